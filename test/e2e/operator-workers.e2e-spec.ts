import type { Page } from 'playwright-core';
import { PlainSlotsEngine } from '../support/load-engine.js';
import { OperatorBrowser } from '../support/operator-browser.js';
import { RawConnection, requestBytes, sendRaw, type RequestParts } from '../support/raw-client.js';
import { RedisServer } from '../support/redis-server.js';
import { eventually } from '../support/socket-world.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';
import { StaticIssuer } from '../support/static-issuer.js';

import.meta.jest.setTimeout(15_000);

const WORKERS = 2;
const SLOTS = 3;
const FIRST = 12;
const MORE = 3;

interface Found {
  readonly stories: readonly { readonly worker: number }[];
  readonly silent: number;
}

/** Two processes behind one port, with auth on and budgets in Redis; an engine that is never done. */
let gateway: RunningGateway;
let issuer: StaticIssuer;
let redis: RedisServer;
let engine: PlainSlotsEngine;
let browser: OperatorBrowser;
let page: Page;
let faults: string[];
let token: string;
const connections: RawConnection[] = [];

beforeAll(async () => {
  [issuer, redis] = await Promise.all([StaticIssuer.start(), RedisServer.start()]);
  engine = await PlainSlotsEngine.start({ slots: 100, firstTokenMs: 600_000, serviceMs: 600_000 });
  const slots = { limit: SLOTS, perEndpoint: SLOTS };
  const bands = [{ name: 'gold', ceiling: 1, capacity: 64, ttl: '120s' }];
  [gateway, browser, token] = await Promise.all([
    startGateway({
      upstreams: [{ name: 'engine', url: engine.url, engine: 'openai', slots }],
      models: [{ id: 'demo-chat', upstream: 'engine', operations: ['chat'] }],
      operations: { chat: { timeouts: { connect: '2s', read: '60s', write: '60s' } } },
      admission: { bands },
      auth: { enabled: true, issuers: [issuer.section] },
      budgets: { store: redis.url, window: '10m', tenants: [{ name: 'svc-poor', requests: 1, tokens: 10 }] },
      server: { workers: WORKERS, drainTimeout: '300ms' },
    }),
    OperatorBrowser.start(),
    issuer.token('svc-chat'),
  ]);
  ({ page, faults } = await browser.open(`${gateway.managementOrigin}/`));
}, 60_000);

afterAll(async () => {
  connections.forEach((connection) => connection.destroy());
  await browser.stop();
  await gateway.stop();
  await Promise.all([engine.stop(), redis.stop(), issuer.stop()]);
}, 30_000);

afterEach(() => expect(faults.splice(0)).toEqual([]));

const shows = (selector: string, text: string | RegExp): Promise<void> =>
  page.locator(selector, { hasText: text }).first().waitFor();
const tile = (name: string) => page.locator('#glance div', { hasText: name }).locator('dd');
const says = (name: string, count: number): Promise<void> =>
  eventually(async () => (await tile(name).textContent()) === String(count));
const notice = (text: string) => page.locator('#notices li', { hasText: text });
const api = (path: string): Promise<unknown> =>
  fetch(`${gateway.managementOrigin}/api/${path}`).then((response) => response.json());
const find = (id: string): Promise<Found> => api(`requests?id=${id}`) as Promise<Found>;

const chat = (credential: string | undefined, requestId: string): RequestParts => ({
  method: 'POST',
  path: '/v1/chat/completions',
  headers: {
    ...{ host: 'gateway.test', 'content-type': 'application/json', 'x-request-id': requestId },
    ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
  },
  body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'Why?' }] }),
});

/** Asks, and waits for nothing. */
async function ask(requestId: string): Promise<void> {
  const connection = await RawConnection.open(gateway.port);
  connections.push(connection);
  connection.send(requestBytes(chat(token, requestId)));
}

it('says which processes it is put together from, and how engines and budgets are shared', async () => {
  await shows('#sharing', 'The only gateway: it has the engines to itself, and one store counts the budgets.');
  await shows('#sharing', /Put together from 2 worker processes: 1 \(\d+\), 2 \(\d+\)\.$/);
  await shows('#notices li', 'Idle: no request runs, none waits.');
});

it('tells refusals of tokens and of budgets by their kind, and nothing of a token', async () => {
  const poor = await issuer.token('svc-poor');
  const credentials = [undefined, 'not.a.token', poor, poor, await issuer.token('svc-chat', 'other')];
  const answers = await Promise.all(credentials.map((one, at) => sendRaw(gateway.port, chat(one, `no-${String(at)}`))));
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 429, 429, 403]);
  await shows('#rejections li', /unauthenticated: missing.*401 No valid token · \/v1\/chat\/completions/);
  await shows('#rejections li', /unauthenticated: malformed/);
  await shows('#rejections li', /forbidden: scope.*403 The token lacks the right/);
  await shows('#rejections li', /budget exhausted: tokens ×2.*429 The budget is spent · svc-poor, gold/);
  const told = await Promise.all([api('snapshot'), api('about'), find('no-2')]);
  const said = JSON.stringify(told) + (await page.content());
  for (const secret of [token, poor, 'not.a.token', 'Bearer', 'redis://']) expect(said).not.toContain(secret);
});

it('says that a store is out, and when it is back', async () => {
  await redis.kill();
  await notice('The store that counts the budgets is out').waitFor();
  await redis.restart();
  await notice('The store that counts the budgets is out').waitFor({ state: 'detached' });
});

const ids = (from: number, count: number) => Array.from({ length: count }, (_, at) => `asked-${String(from + at)}`);

it('adds up what runs and who waits, whichever process has it', async () => {
  await Promise.all(ids(0, FIRST).map(ask));
  await says('waiting', FIRST - SLOTS);
  expect(await gateway.metric('admission_queue_depth')).toBe(FIRST - SLOTS);
  const upstream = page.getByRole('article', { name: 'Upstream engine' });
  await upstream.getByText('3 of 3 slots', { exact: true }).waitFor();
  const line = upstream.locator('.tenants tbody tr', { hasText: 'svc-chat' });
  expect(await line.locator('td').first().allTextContents()).toEqual([String(FIRST - SLOTS)]);
  await shows('#notices li', /^engine: 9 requests of gold wait, because \w+/);
  await shows('#running-count', `longest of ${String(FIRST)}`);
});

it('shows a process that does not answer as it was, and says so; one that has gone is replaced', async () => {
  // While one stands still, the other one takes what comes.
  const first = (await find('asked-0')).stories[0]?.worker ?? 0;
  const { workers } = (await api('snapshot')) as { workers: { worker: number; pid: number }[] };
  const pid = workers.find(({ worker }) => worker === first)?.pid ?? 0;
  process.kill(pid, 'SIGSTOP');
  try {
    await Promise.all(ids(FIRST, MORE).map(ask));
    await says('waiting', FIRST - SLOTS + MORE);
    expect(await find(`asked-${String(FIRST)}`)).toMatchObject({ stories: [{ worker: 3 - first }], silent: 1 });
    await page.evaluate(`location.hash = '#request=asked-${String(FIRST)}'`);
    await shows('#story .story-head', `worker ${String(3 - first)}`);
    await shows('#story', '1 worker did not answer: what is known there is not here.');
    await notice(`Worker ${String(first)} (process ${String(pid)}) does not answer`).waitFor();
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await notice('does not answer').waitFor({ state: 'detached' });
  const found = await Promise.all(ids(0, FIRST + MORE).map(find));
  expect(found.map(({ stories, silent }) => [stories.length, silent])).toEqual(found.map(() => [1, 0]));
  const left = found.filter(({ stories }) => stories[0]?.worker !== first).length;

  process.kill(pid, 'SIGKILL');
  await says('waiting', Math.max(0, left - SLOTS));
  await says('running', Math.min(left, SLOTS));
  await eventually(async () => !((await page.locator('#sharing').textContent()) ?? '').includes(String(pid)));
  await shows('#sharing', 'from 2 worker processes');
  expect(await notice('do not serve').count()).toBe(0);
}, 30_000);
