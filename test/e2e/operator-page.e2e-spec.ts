import type { Page } from 'playwright-core';
import type { Crowd } from '../support/load-client.js';
import { repeated } from '../support/load-client.js';
import { OperatorBrowser, type Watched } from '../support/operator-browser.js';
import { OperatorWorld } from '../support/operator-world.js';
import { RawConnection } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';

// A real browser, on a machine that may have others to run.
import.meta.jest.setTimeout(15_000);

let world: OperatorWorld;
let browser: OperatorBrowser;
let open: Watched | undefined;

beforeAll(async () => {
  world = await OperatorWorld.start();
  browser = await OperatorBrowser.start();
}, 60_000);

afterAll(async () => {
  await browser.stop();
  await world.stop();
}, 30_000);

afterEach(() => {
  expect(open?.faults.splice(0) ?? []).toEqual([]);
});

/** Goes to the page, or to another place on it; whatever goes wrong there fails the test that looks. */
async function look(hash = ''): Promise<Watched> {
  open ??= await browser.open(world.address);
  await open.page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  await open.page.locator('body[data-link=live]').waitFor();
  return open;
}

const upstream = (page: Page, name: string) => page.getByRole('article', { name: `Upstream ${name}` });
const tile = (page: Page, name: string) => page.locator('#glance div', { hasText: name }).locator('dd');
const shows = (page: Page, selector: string, text: string | RegExp) =>
  page.locator(selector, { hasText: text }).first().waitFor();

describe('an idle gateway', () => {
  it('says so, in words, and asks nobody but the gateway for anything', async () => {
    const { page, requested } = await look();
    await shows(page, '#notices', 'Idle: no request runs, none waits.');
    for (const text of ['Nothing was turned away since the start.', 'No request runs.', 'No request has ended yet.'])
      await page.getByText(text, { exact: true }).waitFor();
    expect(await upstream(page, 'reasoning').getByText('No request waits.').isVisible()).toBe(true);
    expect(await upstream(page, 'reasoning').getByText('healthy').count()).toBe(2);
    expect(await upstream(page, 'reasoning').getByText('0 of 7 slots').isVisible()).toBe(true);
    expect(requested.filter((url) => !url.startsWith(world.address))).toEqual([]);
    expect(new Set(requested.map((url) => new URL(url).pathname.split('/')[1]))).toEqual(new Set(['', 'page', 'api']));
  });

  it('can be read without seeing it: headings, landmarks, named gauges', async () => {
    const { page } = await look();
    await upstream(page, 'reasoning').waitFor();
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
    expect(await page.getByRole('main').count()).toBe(1);
    expect(await page.getByRole('search').getByLabel('Request').count()).toBe(1);
    expect(await page.getByRole('status').textContent()).toBe('Live');
    const bar = upstream(page, 'reasoning').getByRole('meter', { name: 'Saturation' });
    expect(await bar.getAttribute('aria-valuetext')).toBe('0 %');
    await eventually(async () => (await page.getByRole('img', { name: /^Running, last 1 min: now 0/ }).count()) > 0);
  });
});

describe('a gateway under load', () => {
  let crowd: Crowd;

  beforeAll(() => {
    crowd = world.crowd();
  });
  afterAll(() => crowd.stop());

  it('shows what runs, who waits, and what holds the one in front, live', async () => {
    const { page } = await look();
    await eventually(async () => Number(await tile(page, 'waiting').textContent()) > 3);
    const reasoning = upstream(page, 'reasoning');
    await reasoning.getByText('requests wait').waitFor();
    const bronze = reasoning.locator('.bands > li', { hasText: 'bronze' });
    await bronze
      .getByText(/^Held by (count|backlog|quiet|max_inflight|limit): \w/)
      .first()
      .waitFor();
    await bronze.getByRole('rowheader', { name: 'nightly' }).waitFor();
    await shows(page, '#notices li', /^reasoning: \d+ requests of bronze wait, because \w+/);
    await shows(page, '#running li', /waits.*bronze · reasoning/);
    expect(await reasoning.locator('.pips [data-taken]').count()).toBeGreaterThan(2);
    expect(
      Number(await reasoning.getByRole('meter', { name: 'Saturation' }).getAttribute('aria-valuenow')),
    ).toBeGreaterThan(0);
  });

  it('changes while one looks, and draws the last minutes', async () => {
    const { page } = await look();
    const line = upstream(page, 'reasoning').locator('.plot.run path.line').first();
    await eventually(async () => ((await line.getAttribute('d')) ?? '') !== '');
    const before = await line.getAttribute('d');
    const served = Number(await tile(page, 'served').textContent());
    await eventually(async () => (await line.getAttribute('d')) !== before);
    await eventually(async () => Number(await tile(page, 'served').textContent()) > served);
  });

  it('tells what was turned away, once a kind, and why', async () => {
    await world.turnSomeAway();
    const { page } = await look();
    await shows(page, '#rejections li', /queue full ×\d+.*503 The queue is full · crawler, bronze · reasoning/);
    await shows(page, '#rejections li', /unknown model.*no-such-model.*400 No such model/);
    await eventually(async () => Number(await tile(page, 'turned away').textContent()) > 1);
  });

  it('tells the story of a request that waits, as it goes on, by its link', async () => {
    const { page } = await look();
    const link = page.locator('#running li', { hasText: 'waits' }).getByRole('link').first();
    const id = await link.textContent();
    await link.click();
    await page.getByRole('heading', { name: `Request ${id ?? ''}` }).waitFor();
    await shows(page, '#story .steps', /asked for a place on reasoning; it had to wait/);
    await shows(page, '#story [data-step=now]', /^\+.*still/);
    const now = page.locator('#story [data-step=now]');
    const before = await now.textContent();
    await eventually(async () => (await now.count()) === 0 || (await now.textContent()) !== before);
    await page.getByRole('button', { name: 'Close' }).click();
    await page.locator('#story').waitFor({ state: 'hidden' });
  });
});

describe('the story of a request', () => {
  it('is found by its id with the keyboard alone, from its arrival to its last token', async () => {
    const answer = await world.chat('one-to-be-found', { 'x-llmgw-session': 'console' });
    expect(answer.status).toBe(200);
    const { page } = await look();
    await page.getByRole('textbox', { name: 'Request' }).focus();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('one-to-be-found');
    await page.keyboard.press('Enter');
    await page.locator('#story .steps').waitFor();
    const steps = await page.locator('#story .steps li').allTextContents();
    const expected = [
      /^\+0 ms.*arrived at \d\d:\d\d:\d\d for \/v1\/chat\/completions, from 127\.0\.0\.1$/,
      /identified as tenant console, band gold$/,
      /^\+\d+ ms.*asked for a place on reasoning$/,
      /^\+.*got a place on 127\.0\.0\.[12]:\d+ at once$/,
      /^\+.*the engine's side ended: ok$/,
      /^\+.*ended with 200, 40 tokens generated$/,
    ];
    expect(steps).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
    expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Request one-to-be-found');
    expect(page.url()).toBe(`${world.address}#request=one-to-be-found`);
  });

  it('tells when a stream sent its first content', async () => {
    await world.chat('a-streamed-one', {}, { stream: true });
    const { page } = await look('#request=a-streamed-one');
    await shows(page, '#story .steps', 'first content went to the client');
    await shows(page, '#story .legend', 'until the first content');
  });

  it('says of an unknown id that nobody has it, and of nonsense that it is none', async () => {
    const { page } = await look('#request=nobody');
    await shows(page, '#story', 'No request with this id runs');
    await page.getByRole('textbox', { name: 'Request' }).fill('<b>');
    await page.getByRole('button', { name: 'Show' }).click();
    // The answer is a 400, which the browser notes; it is what was asked for.
    await shows(page, '#story', 'That is no request id');
    open?.faults.splice(0);
  });
});

describe('whatever callers write', () => {
  const MARKUP = '<img/src=x/onerror=alert(1)>';

  it('stands there as text: tenant, request id, model', async () => {
    await world.chat('a-hostile-one', { 'x-llmgw-session': MARKUP });
    await world.chat('a-hostile-model', { 'x-llmgw-session': MARKUP }, { model: MARKUP });
    const { page } = await look(`#request=${encodeURIComponent(MARKUP)}`);
    page.on('dialog', (dialog) => {
      open?.faults.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await shows(page, '#story', 'That is no request id');
    open?.faults.splice(0);
    await page.goto(`${world.address}#request=a-hostile-one`);
    await shows(page, '#story .steps', `identified as tenant ${MARKUP}, band gold`);
    await shows(page, '#recent li', MARKUP);
    await shows(page, '#rejections li', MARKUP);
    expect(await page.locator('img, main script, iframe').count()).toBe(0);
    expect(await page.content()).toContain('&lt;img/src=x/onerror=alert(1)&gt;');
  });
});

describe('an engine whose gauges are not to be had', () => {
  it('is told at once, with what it means, and forgotten when it is over', async () => {
    const { page } = await look();
    const [first] = world.engines;
    first?.setFaults({ metrics: { status: 500 } });
    const endpoint = upstream(page, 'reasoning').locator('.endpoints > li', { hasText: `127.0.0.1:` });
    await endpoint.getByText('stale', { exact: true }).waitFor();
    await endpoint
      .getByText(/^Gauges last read .* ago: requests are admitted by the gateway's own ledger\.$/)
      .waitFor();
    await shows(page, '#notices li', /^reasoning, 127\.0\.0\.1:\d+: its gauges are not to be had/);
    await upstream(page, 'reasoning').getByText('partly in trouble').waitFor();
    first?.setFaults({});
    await endpoint.getByText('healthy').waitFor();
    await shows(page, '#notices li', 'Idle');
  });
});

describe('the management listener', () => {
  const get = (path: string, init: RequestInit = {}) => fetch(`${world.gateway.managementOrigin}${path}`, init);

  it('lets nothing of the page be kept, framed, or fetched from elsewhere', async () => {
    for (const path of ['/', '/page/main.js', '/page/page.css', '/page/icon.svg', '/api/snapshot', '/api/about']) {
      const response = await get(path);
      const policy = response.headers.get('content-security-policy') ?? '';
      expect([path, response.status, response.headers.get('cache-control')]).toEqual([path, 200, 'no-store']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  it('changes nothing for anybody, and serves no file but the page', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      for (const path of ['/', '/api/snapshot', '/api/requests?id=x', '/api/events'])
        expect((await get(path, { method })).status).toBe(404);
    for (const path of [
      '/page/..%2foperator.module.js',
      '/page/%2e%2e%2f%2e%2e%2fmain.js',
      '/page/nothing.js',
      '/index.html',
    ])
      expect((await get(path)).status).toBe(404);
    expect((await get('/api/requests')).status).toBe(400);
  });

  it('keeps the page off the public listener', async () => {
    for (const path of ['/', '/api/snapshot', '/api/events', '/page/main.js'])
      expect((await fetch(`${world.gateway.origin}${path}`)).status).toBe(404);
  });

  it('says in the snapshot whose it is, and on which grid its samples lie, so that several can be added', async () => {
    const [snapshot, history] = await Promise.all(
      ['/api/snapshot', '/api/history'].map(
        async (path) => (await get(path)).json() as Promise<Record<string, unknown>>,
      ),
    );
    expect(snapshot).toMatchObject({ gateway: { pid: world.gateway.pid, host: expect.any(String) }, state: 'serving' });
    expect(history).toMatchObject({ everyMs: 2000, newest: expect.any(Number) });
    expect(JSON.stringify(snapshot).length).toBeLessThan(20_000);
  });

  it('takes so many watchers and no more, and others when those have gone', async () => {
    const port = Number(new URL(world.address).port);
    const watch = async (): Promise<RawConnection> => {
      const connection = await RawConnection.open(port);
      connection.send('GET /api/events HTTP/1.1\r\nhost: x\r\n\r\n');
      return connection;
    };
    await eventually(async () => (await statusOfEvents(port)) === 200);
    // More than may be: one that has just left may still be counted when they come.
    const watchers = await Promise.all(repeated(40, watch));
    await eventually(async () => (await statusOfEvents(port)) === 503);
    expect((await get('/metrics')).status).toBe(200);
    watchers.forEach((one) => one.destroy());
    await eventually(async () => (await statusOfEvents(port)) === 200);
  });
});

/** The status that one more watcher gets, who leaves again. */
async function statusOfEvents(port: number): Promise<number> {
  const leave = new AbortController();
  const response = await fetch(`http://127.0.0.1:${String(port)}/api/events`, { signal: leave.signal });
  leave.abort();
  return response.status;
}

describe('a gateway that goes', () => {
  it('is said to be disconnected, with the time of the figures; the next one in its place is shown', async () => {
    const { page } = await look();
    const before = await page.locator('#gateway-name').textContent();
    const exit = await world.restart(async () => {
      await shows(page, '#link', /^Disconnected; the figures are of \d\d:\d\d:\d\d$/);
      expect(await page.locator('body').getAttribute('data-link')).toBe('lost');
    });
    // An open page does not hold up the end of a gateway.
    expect(exit).toEqual({ code: 0, signal: null });
    await page.locator('body[data-link=live]').waitFor();
    await eventually(async () => (await page.locator('#gateway-name').textContent()) !== before);
    // While nobody listened the browser could not connect, and noted it.
    const noted = open?.faults.splice(0) ?? [];
    expect(noted.filter((one) => !/ERR_CONNECTION|ERR_INCOMPLETE/.test(one))).toEqual([]);
  }, 40_000);
});
