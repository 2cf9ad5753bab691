import { renderModel, renderModelList } from './models.js';

const models = [
  { id: 'org/one', contextLength: 8192 },
  { id: 'two:3b', contextLength: 512 },
];
const entry = {
  id: 'org/one',
  object: 'model',
  created: 7,
  owned_by: 'gateway',
  display_name: 'org/one',
  max_model_len: 8192,
};

it('lists the models', () => {
  const { status, headers, body } = renderModelList(models, 7);
  expect({ status, headers }).toEqual({ status: 200, headers: ['content-type', 'application/json; charset=utf-8'] });
  expect(JSON.parse(Buffer.from(body).toString())).toEqual({
    object: 'list',
    data: [entry, { ...entry, id: 'two:3b', display_name: 'two:3b', max_model_len: 512 }],
  });
});

it('shows one', () => {
  expect(JSON.parse(Buffer.from(renderModel(models, 'org/one', 7).body).toString())).toEqual(entry);
});

it('is a 404 for one that is not there, with those that are', () => {
  expect(() => renderModel(models, 'three', 7)).toThrow(
    expect.objectContaining({
      code: 'model-not-found',
      status: 404,
      options: expect.objectContaining({ extensions: { valid_models: ['org/one', 'two:3b'] } }) as unknown,
    }) as Error,
  );
});
