import { sampleAnswer, samplePage } from '../../../test/engines/sample-page.js';
import { pour, TcpEngine, type TcpAnswer } from '../../../test/support/tcp-engine.js';
import { systemClock } from '../../common/clock.js';
import { placeOf } from './core/endpoint-place.js';
import { GaugePage } from './core/gauge-page.js';
import type { GaugeTable } from './core/gauge-table.js';
import { LLAMACPP_GAUGES } from './core/gauges-llamacpp.js';
import { VLLM_GAUGES } from './core/gauges-vllm.js';
import { LivenessPage } from './core/liveness-page.js';
import type { PageVerdict } from './core/page-reader.js';
import { EngineMetricsClient } from './engine-metrics-client.js';

const engines: TcpEngine[] = [];
const clients: EngineMetricsClient[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await Promise.all(engines.splice(0).map((engine) => engine.stop()));
});

async function engineThat(answer: TcpAnswer): Promise<TcpEngine> {
  const engine = await TcpEngine.start(answer);
  engines.push(engine);
  return engine;
}

/** Long for those that answer, short for a test of one that does not. */
const PATIENT_MS = 10_000;
const IMPATIENT_MS = 150;

function clientOf(url: string, timeoutMs = PATIENT_MS, path = '/metrics'): EngineMetricsClient {
  const client = new EngineMetricsClient({ place: placeOf(url), path, timeoutMs }, systemClock);
  clients.push(client);
  return client;
}

async function verdictOn(
  answer: TcpAnswer,
  timeoutMs = PATIENT_MS,
  table: GaugeTable = VLLM_GAUGES,
): Promise<PageVerdict> {
  const { url } = await engineThat(answer);
  const { verdict } = await clientOf(url, timeoutMs).poll(new GaugePage(table, []), undefined);
  return verdict;
}

const faultOf = (verdict: PageVerdict): string => (verdict.ok ? 'none' : verdict.fault);
const VLLM_PAGE = samplePage('vllm-v1.prom').toString();

/** A whole response; `head` is further lines of it. */
const response = (body: string, head = '', status = '200 OK'): string =>
  `HTTP/1.1 ${status}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${head}\r\n${body}`;
const sends =
  (...pieces: (string | Buffer)[]): TcpAnswer =>
  ({ socket }) =>
    pieces.forEach((piece) => socket.write(piece));

describe('engine-metrics-client: what it asks', () => {
  it('asks by the configured name, for bytes as they are, with the credential', async () => {
    const engine = await engineThat(sends(response(VLLM_PAGE)));
    const place = { ...placeOf(engine.url), authority: 'reasoning.llm-serving' };
    const client = new EngineMetricsClient({ place, path: '/metrics', timeoutMs: PATIENT_MS }, systemClock);
    clients.push(client);
    await client.poll(new GaugePage(VLLM_GAUGES, []), 'sk-123');
    const head = engine.requests[0]?.head.toLowerCase() ?? '';
    expect(head).toMatch(/^get \/metrics http\/1\.1\r\n/u);
    expect(head.match(/^host: .*$/gmu)).toEqual(['host: reasoning.llm-serving']);
    expect(head).toContain('\r\naccept-encoding: identity\r\n');
    expect(head).toContain('\r\nauthorization: bearer sk-123\r\n');
  });

  it('sends no credential where there is none', async () => {
    const engine = await engineThat(sends(response(VLLM_PAGE)));
    await clientOf(engine.url).poll(new GaugePage(VLLM_GAUGES, []), undefined);
    expect(engine.requests[0]?.head.toLowerCase()).not.toContain('authorization');
  });

  it('asks again on the same connection', async () => {
    const engine = await engineThat(sends(response(VLLM_PAGE)));
    const client = clientOf(engine.url);
    for (let times = 0; times < 3; times += 1) {
      const { verdict } = await client.poll(new GaugePage(VLLM_GAUGES, []), undefined);
      expect(faultOf(verdict)).toBe('none');
    }
    expect([engine.requests.length, engine.accepted]).toEqual([3, 1]);
  });
});

describe('engine-metrics-client: what it takes', () => {
  it('reads a page in pieces', async () => {
    const chunks = VLLM_PAGE.match(/[\s\S]{1,100}/gu) ?? [];
    const framed = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    const verdict = await verdictOn(
      sends('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', ...framed, '0\r\n\r\n'),
    );
    expect(verdict).toMatchObject({ ok: true, reading: { gauges: { running: 2, waiting: 3 } } });
  });

  it.each([
    ['metrics-idle.http', 0, 0, '2028341872'],
    ['metrics-after.http', 0, 0, '2028341872'],
    ['metrics-under-load.http', 2, 2, '2089114545'],
  ])('reads the recorded answer %s', async (name, running, waiting, bootMark) => {
    const verdict = await verdictOn(({ socket }) => socket.end(sampleAnswer(name)), PATIENT_MS, LLAMACPP_GAUGES);
    expect(verdict).toMatchObject({ ok: true, reading: { bootMark, gauges: { running, waiting } } });
  });

  it('takes a missing page for life where only life is asked', async () => {
    const { url } = await engineThat(sends(response('404 page not found', '', '404 Not Found')));
    const { verdict } = await clientOf(url).poll(new LivenessPage(), undefined);
    expect(verdict.ok).toBe(true);
  });
});

describe('engine-metrics-client: what it refuses', () => {
  it.each<[string, string, TcpAnswer]>([
    ['an error', 'status', sends(response('{}', '', '500 Internal Server Error'))],
    ['an answer without a page', 'status', sends('HTTP/1.1 204 No Content\r\n\r\n')],
    ['a web page', 'bad_content', sends(response(VLLM_PAGE, 'Content-Type: Text/HTML; charset=utf-8\r\n'))],
    ['compressed bytes', 'bad_content', sends(response(VLLM_PAGE, 'content-encoding: gzip\r\n'))],
    ['a page of another engine', 'missing_family', sends(response('llamacpp:requests_processing 1\n'))],
    ['a page that is announced as huge', 'oversize', sends('HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n')],
    ['a head without end', 'oversize', ({ socket }) => sendsHead(socket.write.bind(socket))],
    ['something other than HTTP', 'bad_content', sends('220 mail.example ESMTP\r\n\r\n')],
    ['half a page', 'connect', ({ socket }) => socket.end(response(VLLM_PAGE).slice(0, -500))],
    [
      'half a chunk',
      'connect',
      ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nvllm'),
    ],
    ['a reset', 'connect', ({ socket }) => socket.resetAndDestroy()],
    ['nothing at all', 'connect', ({ socket }) => socket.end()],
  ])('%s: %s', async (_what, fault, answer) => {
    const verdict = await verdictOn(answer);
    expect(faultOf(verdict)).toBe(fault);
  });

  it('follows no redirect', async () => {
    const elsewhere = await engineThat(sends(response(VLLM_PAGE)));
    const moved = sends(response('', `location: ${elsewhere.url}/metrics\r\n`, '302 Found'));
    expect(faultOf(await verdictOn(moved))).toBe('status');
    expect(elsewhere.accepted).toBe(0);
  });

  it.each<[string, string]>([
    ['one line without end', 'x'],
    ['lines without end', 'x 1\n'],
  ])('%s: stops reading and lets go', async (_what, piece) => {
    const body = piece.repeat((64 * 1024) / piece.length);
    const engine = await engineThat(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n');
      const more = (): void => {
        while (!socket.destroyed && socket.write(body));
        socket.once('drain', more);
      };
      more();
    });
    const { verdict } = await clientOf(engine.url).poll(new GaugePage(VLLM_GAUGES, []), undefined);
    expect(faultOf(verdict)).toBe('oversize');
    await engine.requests[0]?.left;
  });

  it('reads no more of a page than its limit, whatever the lines are', async () => {
    const engine = await engineThat(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n');
      const comment = `# ${'x'.repeat(64 * 1024 - 100)}\n`;
      for (let lines = 0; lines < 80; lines += 1) socket.write(comment);
    });
    const { verdict } = await clientOf(engine.url).poll(new GaugePage(VLLM_GAUGES, []), undefined);
    expect(verdict).toMatchObject({ fault: 'oversize', detail: 'the page has more than 4194304 bytes' });
    await engine.requests[0]?.left;
  });
});

const sendsHead = (write: (text: string) => unknown): void => {
  write('HTTP/1.1 200 OK\r\n');
  for (let fields = 0; fields < 100; fields += 1) write(`x-field-${fields}: ${'y'.repeat(1000)}\r\n`);
};

describe('engine-metrics-client: time', () => {
  it.each<[string, TcpAnswer]>([
    ['no answer', () => undefined],
    ['half a head', sends('HTTP/1.1 200 OK\r\ncontent-')],
    ['half a page', sends(response(VLLM_PAGE).slice(0, -500))],
    ['nothing but early hints', ({ socket }) => void setInterval(() => hint(socket), 10).unref()],
  ])('gives up at %s, and the connection with it', async (_what, answer) => {
    const engine = await engineThat(answer);
    const { verdict } = await clientOf(engine.url, IMPATIENT_MS).poll(new GaugePage(VLLM_GAUGES, []), undefined);
    expect(verdict).toMatchObject({ ok: false, fault: 'timeout' });
    await engine.requests[0]?.left;
  });

  it('asks anew after a poll that hung', async () => {
    const engine = await engineThat(({ call, socket }) => (call === 0 ? undefined : socket.write(response(VLLM_PAGE))));
    const client = clientOf(engine.url, 1000);
    const faults: string[] = [];
    for (let times = 0; times < 2; times += 1) {
      faults.push(faultOf((await client.poll(new GaugePage(VLLM_GAUGES, []), undefined)).verdict));
    }
    expect(faults).toEqual(['timeout', 'none']);
  });

  it('says that nobody listens, and finds who listens later', async () => {
    const engine = await engineThat(sends(response(VLLM_PAGE)));
    const client = clientOf(engine.url);
    await engine.stop();
    expect(faultOf((await client.poll(new GaugePage(VLLM_GAUGES, []), undefined)).verdict)).toBe('connect');
    await engine.listen();
    expect(faultOf((await client.poll(new GaugePage(VLLM_GAUGES, []), undefined)).verdict)).toBe('none');
  });

  it('ends a poll that runs when it is closed', async () => {
    const engine = await engineThat(() => undefined);
    const client = clientOf(engine.url);
    const polled = client.poll(new GaugePage(VLLM_GAUGES, []), undefined);
    await engine.request(0);
    await client.close();
    expect(faultOf((await polled).verdict)).toBe('connect');
  });

  it('keeps nothing of a body that it does not want', async () => {
    const engine = await engineThat(({ socket }) => {
      socket.write('HTTP/1.1 500 Oops\r\nconnection: close\r\n\r\n');
      pour(socket, 50 * 1024 * 1024);
    });
    const { verdict } = await clientOf(engine.url).poll(new GaugePage(VLLM_GAUGES, []), undefined);
    expect(faultOf(verdict)).toBe('status');
    await engine.requests[0]?.left;
  });
});

function hint(socket: { destroyed: boolean; write(text: string): unknown }): void {
  if (!socket.destroyed) socket.write('HTTP/1.1 103 Early Hints\r\n\r\n');
}
