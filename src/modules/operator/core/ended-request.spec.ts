import { RequestRecord } from '../../../common/request-record.js';
import { EndedRequest } from './ended-request.js';

it('keeps all that it has a place for, and nothing of the one before', () => {
  const first = new RequestRecord('a', 1, () => undefined);
  const places = Object.keys(new EndedRequest());
  for (const [at, name] of places.entries()) Object.assign(first, { [name]: `value ${at}` });
  const ended = new EndedRequest();
  ended.note(first);
  expect(Object.entries(ended)).toEqual(places.map((name, at) => [name, `value ${at}`]));
  ended.note(new RequestRecord('b', 2, () => undefined));
  expect(ended).toEqual(Object.assign(new EndedRequest(), { requestId: 'b', arrivedAt: 2, route: 'none', upstream: 'none', peerAddress: 'unknown' })); // prettier-ignore
});
