import { EdgeWorld, expectProblem } from '../support/edge-world.js';
import { EITHER, INVALID, VALID } from '../support/json-corpus.js';

/** A document as a member of a request that is beyond reproach otherwise. */
const wrapped = (document: string): Buffer =>
  Buffer.from(
    `{"model":"demo-chat","metadata":${document},"messages":[{"role":"user","content":"mark-json"}]}`,
    'latin1',
  );

describe('J15: documents that tell JSON readers apart', () => {
  let world: EdgeWorld;

  beforeAll(async () => {
    world = await EdgeWorld.start();
  }, 60_000);

  afterAll(() => world.stop());

  beforeEach(() => {
    world.upstream.requests = [];
  });

  it.each(Object.entries(VALID))('serves %s', async (_, document) => {
    const response = await world.post(wrapped(document));
    expect(response.status).toBe(200);
    expect(world.upstream.lastRequest.body.equals(wrapped(document))).toBe(true);
  });

  it.each(Object.entries(INVALID))('refuses %s', async (_, document) => {
    expectProblem(await world.post(wrapped(document)), 400);
    expect(world.upstream.requests).toHaveLength(0);
  });

  it.each(Object.entries(EITHER))('serves or refuses %s', async (_, document) => {
    const response = await world.post(wrapped(document));
    if (response.status !== 200) expectProblem(response, 400);
    expect(world.upstream.requests.map(({ body }) => body.equals(wrapped(document)))).toEqual(
      response.status === 200 ? [true] : [],
    );
  });

  it('and is none the worse for it', async () => {
    expect(await world.canary('after')).toBe('mark-after');
    expect(await world.slotsInUse()).toBe(0);
  });
});
