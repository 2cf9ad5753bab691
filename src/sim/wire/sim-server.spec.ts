import { FAST } from '../core/profiles.js';
import { startVllm, type VllmOptions, type VllmServer } from '../vllm.js';
import { parseFaults, type Faults } from './faults.js';

const servers: VllmServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function vllm(faults: Faults = {}, options: Partial<VllmOptions> = {}): Promise<VllmServer> {
  const server = await startVllm({ models: ['m'], profile: FAST, timeScale: 20, reasons: false, ...options });
  servers.push(server);
  server.setFaults(faults);
  return server;
}

const ask = { model: 'm', messages: [{ role: 'user', content: 'hello' }], max_tokens: 20, sim: { output_tokens: 20 } };

const chat = (server: VllmServer, more: object = {}): Promise<Response> =>
  fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify({ ...ask, ...more }) });

const control = (server: VllmServer, faults: unknown): Promise<Response> =>
  fetch(`${server.url}/__sim/faults`, { method: 'POST', body: JSON.stringify(faults) });

/** What arrives of a stream before it ends or breaks. */
async function received(response: Response): Promise<{ text: string; broken: boolean }> {
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const bytes of (response.body ?? []) as AsyncIterable<Uint8Array>)
      text += decoder.decode(bytes, { stream: true });
    return { text, broken: false };
  } catch {
    return { text, broken: true };
  }
}

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries += 1) {
    if (tries > 2_000) throw new Error('it never came to be');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const startTime = async (server: VllmServer): Promise<number> => {
  const page = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^process_start_time_seconds (\S+)$/m.exec(page)?.[1]);
};

describe('a simulated server: faults', () => {
  it('fails so many times, in its own words', async () => {
    const server = await vllm({ status: 500, times: 1 });
    const failed = await chat(server);
    expect([failed.status, await failed.json()]).toMatchObject([500, { error: { type: 'InternalServerError' } }]);
    expect((await chat(server)).status).toBe(200);
  });

  it('answers late', async () => {
    const server = await vllm({ headDelayMs: 30 });
    const answer = chat(server);
    await until(() => server.stats().requests === 1);
    expect(server.engines[0]?.gauges().submitted).toBe(0);
    expect((await answer).status).toBe(200);
  });

  it('never answers, and notices who gives up', async () => {
    const server = await vllm({ hang: true });
    const leaving = new AbortController();
    const answer = fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(ask),
      signal: leaving.signal,
    });
    await until(() => server.stats().requests === 1);
    leaving.abort();
    await expect(answer).rejects.toThrow('aborted');
    await until(() => server.stats().aborted === 1);
  });

  it.each([
    ['reset', true, 2],
    ['half-event', true, 2],
    ['end', false, 2],
    ['error', false, 3],
  ] as const)('breaks a stream: %s', async (way, broken, frames) => {
    const server = await vllm({ stream: { afterEvents: 2, way } });
    const got = await received(await chat(server, { stream: true }));
    expect(got.broken).toBe(broken);
    expect(got.text).not.toContain('[DONE]');
    // A reset may take from the client what was on the way to it.
    if (way !== 'reset') expect(got.text.split('\n\n').filter((frame) => frame.endsWith('}'))).toHaveLength(frames);
    await until(() => server.stats().running === 0);
  });

  it('falls silent in mid-stream', async () => {
    const server = await vllm({ stream: { afterEvents: 1, way: 'silence' } });
    const reader = (await chat(server, { stream: true })).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain('"role":"assistant"');
    await until(() => server.engines[0]?.gauges().finished === 1);
    expect(server.stats()).toMatchObject({ finished: 0, aborted: 0, running: 0 });
    await reader?.cancel();
    await until(() => server.stats().aborted === 1);
  });

  it('cuts a body in half, or sends one that nobody can read', async () => {
    const server = await vllm({ body: 'truncated' });
    await expect((await chat(server)).text()).rejects.toThrow();
    expect(server.stats().cut).toBe(1);
    server.setFaults({ body: 'html' });
    expect(await (await chat(server)).text()).toContain('<html>');
    server.setFaults({ body: 'hostile' });
    await expect((await chat(server)).json()).rejects.toThrow();
  });

  it('spoils the metrics page alone', async () => {
    const server = await vllm({ metrics: { status: 503 } });
    expect((await fetch(`${server.url}/metrics`)).status).toBe(503);
    expect((await chat(server)).status).toBe(200);
    server.setFaults({ metrics: { body: 'html', delayMs: 5 } });
    const page = await fetch(`${server.url}/metrics`);
    expect(page.headers.get('content-type')).toBe('text/html');
  });

  it('keeps the metrics page back until the step is over', async () => {
    const server = await vllm(
      { metrics: { waitForStep: true } },
      { profile: { ...FAST, stepBaseMs: 300 }, timeScale: 1 },
    );
    const answer = chat(server, { max_tokens: 1 });
    await until(() => server.stats().running === 1);
    const page = await (await fetch(`${server.url}/metrics`)).text();
    expect(page).toMatch(/^vllm:generation_tokens_total\{[^}]+\} 1\.0$/m);
    await answer;
  });

  it('drops all streams in a crash and comes back as another process', async () => {
    const server = await vllm({}, { timeScale: 1 });
    const before = await startTime(server);
    const stream = await chat(server, { stream: true, max_tokens: 2_000, sim: { output_tokens: 2_000 } });
    server.crash();
    expect(await received(stream)).toMatchObject({ broken: true });
    expect(server.stats()).toMatchObject({ running: 0, cut: 1, aborted: 0 });
    expect(await startTime(server)).toBeGreaterThan(before);
  });

  it('refuses connections for a while, and is back at the same port', async () => {
    const server = await vllm();
    const { port } = server;
    await server.refuse();
    await expect(chat(server)).rejects.toThrow('fetch failed');
    await server.accept();
    expect(server.port).toBe(port);
    expect((await chat(server)).status).toBe(200);
  });
});

describe('a simulated server: control', () => {
  it('takes faults over the wire only when it was started so', async () => {
    const closed = await vllm();
    expect((await control(closed, { status: 500 })).status).toBe(404);
    expect((await chat(closed)).status).toBe(200);
    const open = await vllm({}, { faultsEndpoint: true });
    expect((await control(open, { status: 502 })).status).toBe(200);
    expect((await chat(open)).status).toBe(502);
    expect((await control(open, [])).status).toBe(400);
    expect((await control(open, { statsu: 500 })).status).toBe(400);
    expect((await chat(open)).status).toBe(502);
    expect((await control(open, {})).status).toBe(200);
    expect((await chat(open)).status).toBe(200);
  });

  it('crashes and refuses on demand', async () => {
    const server = await vllm({}, { faultsEndpoint: true });
    const before = await startTime(server);
    await control(server, { crash: true, refuseMs: 30 });
    let refused = 0;
    const answer = async (): Promise<Response> => {
      for (;;) {
        try {
          return await fetch(`${server.url}/health`);
        } catch {
          refused += 1;
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
      }
    };
    expect((await answer()).status).toBe(200);
    expect(await startTime(server)).toBeGreaterThan(before);
    expect(refused).toBeGreaterThan(0);
  });

  it('shows its counts, and keeps itself and the polls out of them', async () => {
    const server = await vllm();
    await (await chat(server)).json();
    await fetch(`${server.url}/metrics`);
    const stats = await (await fetch(`${server.url}/__sim/stats`)).json();
    expect(stats).toEqual({
      requests: 1,
      finished: 1,
      aborted: 0,
      cut: 0,
      polls: 1,
      running: 0,
      waiting: 0,
      peakRunning: 1,
    });
  });

  it.each([
    [{ statsu: 500 }, '"statsu" is no fault'],
    [{ status: 'x' }, '"status"'],
    [[], 'object'],
    [{ stream: { way: 'x' } }, '"stream"'],
  ])('does not take %j for faults', (value, message) => {
    expect(() => parseFaults(value)).toThrow(message);
  });

  it('remembers the latest requests within a bound', async () => {
    const server = await vllm();
    for (let sent = 0; sent < 1_010; sent += 1) await (await fetch(`${server.url}/health?${sent}`)).arrayBuffer();
    expect(server.requests).toHaveLength(1_000);
    expect(server.requests.at(-1)?.path).toBe('/health?1009');
    expect(server.stats().requests).toBe(1_010);
  });

  it('closes twice without harm, whatever is open', async () => {
    const server = await vllm({ hang: true });
    void chat(server).catch(() => undefined);
    await until(() => server.stats().requests === 1);
    await server.close();
    await server.close();
    await expect(chat(server)).rejects.toThrow('fetch failed');
  });
});
