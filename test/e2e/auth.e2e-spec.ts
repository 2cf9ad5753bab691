import { contentOf, EdgeWorld, expectProblem } from '../support/edge-world.js';
import { IdentityWorld } from '../support/identity-world.js';

describe('a gateway with auth on', () => {
  let world: IdentityWorld;

  beforeAll(async () => {
    world = await IdentityWorld.start();
  }, 60_000);
  afterAll(() => world.stop());

  it('serves a service account that got its token by client_credentials', async () => {
    const answer = await world.chat(await world.identity.token('svc-chat'));
    expect([answer.status, contentOf(answer)]).toEqual([200, 'mark-served']);
    expect(await world.lineOf(answer)).toMatchObject({ tenant: 'svc-chat', band: 'gold', status: 200 });
  });

  it('says at its start whose tokens it takes', () => {
    const lines = world.edge.gateway.logs().filter(({ auth }) => auth !== undefined);
    expect(lines).toEqual([expect.objectContaining({ level: 30, auth: true, issuers: [world.identity.issuer] })]);
  });

  it('turns a caller without a token away', async () => {
    const before = world.served;
    const answer = await world.chat(undefined);
    expectProblem(answer, 401);
    expect(answer.header('www-authenticate')).toBe('Bearer');
    expect(world.served).toBe(before);
  });
});

describe('a gateway with auth off', () => {
  it('says so at its start, once and at warn, and asks nobody for a token', async () => {
    const world = await EdgeWorld.start();
    const lines = world.gateway.logs().filter(({ auth }) => auth !== undefined);
    expect(lines).toEqual([
      expect.objectContaining({ level: 40, auth: false, msg: expect.stringContaining('auth is off') }),
    ]);
    expect(await world.canary('unasked')).toBe('mark-unasked');
    await world.stop();
  });
});
