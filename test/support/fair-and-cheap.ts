import { setTimeout as delay } from 'node:timers/promises';
import { Crowd, LoadClient, repeated } from './load-client.js';
import { bestOf, percentile } from './measure.js';
import { eventually } from './socket-world.js';
import type { RunningGateway } from './start-gateway.js';

const QUIET_CLIENTS = 6;
const TIMES_THE_LOAD = 32;
const LOOK_MS = 3000;
const LOOKS = 8;
const IDLE_REQUESTS = 150;

const asking = (tenant: string, model: string) => ({
  tenant,
  members: (call: number) => ({ model, messages: [{ role: 'user', content: `hello ${String(call)}` }] }),
});

const servedBy = ({ samples }: Crowd): number => samples.filter(({ whole }) => whole).length;

/**
 * How many times as much a tenant at the first gateway is served as another at the second, who asks 32 times less; or
 * the other way round. Over all the time since both are served: what one gateway does before it knows of the other it
 * makes up for later, so that three seconds by themselves swing by half to either side. It ends once that is good enough.
 */
export async function unfairness(
  gateways: readonly RunningGateway[],
  model: string,
  goodEnough: number,
): Promise<number> {
  const crowdAt = (index: number, tenant: string, clients: number): Crowd =>
    new Crowd(
      gateways[index]?.port ?? 0,
      repeated(clients, () => asking(tenant, model)),
    ).start();
  const noisy = crowdAt(0, 'noisy', QUIET_CLIENTS * TIMES_THE_LOAD);
  const quiet = crowdAt(1, 'quiet', QUIET_CLIENTS);
  await eventually(() => servedBy(quiet) > QUIET_CLIENTS && servedBy(noisy) > QUIET_CLIENTS);
  const before = [servedBy(noisy), servedBy(quiet)] as const;
  const best = await bestOf(LOOKS, goodEnough, async () => {
    await delay(LOOK_MS);
    const both = [servedBy(noisy) - before[0], servedBy(quiet) - before[1]] as const;
    return Math.max(...both) / Math.min(...both);
  });
  await Promise.all([noisy.stop(), quiet.stop()]);
  return best;
}

/** How much longer an idle request takes to its first token on one gateway than on another, at the median. */
export async function idleCostMs(one: RunningGateway, other: RunningGateway, model: string): Promise<number> {
  const clients = [one, other].map(({ port }) => new LoadClient(port, asking('idle', model)));
  const times = clients.map((): number[] => []);
  for (let round = 0; round < IDLE_REQUESTS; round += 1)
    for (const [index, client] of clients.entries()) times[index]?.push((await client.ask()).firstMs);
  for (const client of clients) client.stop();
  const [first = NaN, second = NaN] = times.map((all) => percentile(all, 0.5));
  return first - second;
}
