import { Places } from './places.js';

it('knows the sum of its entries, whoever comes and goes', () => {
  const one = { places: 1 };
  const three = { places: 3 };
  const places = new Places<{ readonly places: number }>();
  places.add(one);
  places.add(three);
  expect([places.places, places.has(one), places.has({ places: 1 })]).toEqual([4, true, false]);
  expect([places.delete(three), places.delete(three), places.places]).toEqual([true, false, 1]);
  places.clear();
  expect([places.places, places.has(one)]).toEqual([0, false]);
});
