import { Agent, request } from 'node:http';
import { CHAT, chatBody } from '../support/edge-world.js';
import { issuerKey } from '../support/identity-provider.js';
import { IdentityWorld } from '../support/identity-world.js';

const REQUESTS = 10_000;
const CLIENTS = 16;

/** Sends one request and settles with its status. */
function post(agent: Agent, port: number, token: string): Promise<number> {
  const body = chatBody('served');
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    authorization: `Bearer ${token}`,
  };
  return new Promise((resolve, reject) => {
    const sent = request({ agent, port, method: 'POST', path: CHAT, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject).end(body);
  });
}

it('keys rotate under load: 10,000 requests with tokens old and new, none failed', async () => {
  const world = await IdentityWorld.start({}, { keyGrace: '10m' });
  const { identity } = world;
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const { port } = world.edge.gateway;
  const first = identity.key;
  const second = await issuerKey('second', 'ES256');
  const third = await issuerKey('third');
  const fourth = await issuerKey('fourth');
  const statuses = new Map<number, number>();
  const before = identity.keySetFetches;
  let sent = 0;
  let tokens = [await identity.token('svc-chat')];
  // The first rotation publishes both keys, as issuers do; the second takes the old one out at once; the third is hasty.
  const rotations = new Map([
    [2500, () => identity.publish(second, first)],
    [5000, () => identity.publish(third)],
    [7500, () => identity.publish(fourth)],
  ]);
  const client = async (): Promise<void> => {
    while (sent < REQUESTS) {
      sent += 1;
      const rotate = rotations.get(sent);
      rotate?.();
      // The newest token is asked for by everyone at once, and older ones stay in use.
      if (rotate !== undefined || sent % 250 === 0) tokens = [await identity.token('svc-chat'), ...tokens].slice(0, 6);
      const status = await post(agent, port, tokens[sent % tokens.length] ?? '');
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  expect([...statuses]).toEqual([[200, REQUESTS]]);
  expect(identity.keySetFetches - before).toBe(3);
  agent.destroy();
  await world.stop();
}, 60_000);
