import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { gatewayYaml, type GatewayOptions } from '../support/gateway-config.js';
import { startGateway } from '../support/start-gateway.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const OPTIONS: GatewayOptions = {
  upstreams: [{ name: 'engine', url: 'http://127.0.0.1:9', engine: 'openai' }],
  models: [{ id: 'demo-chat', upstream: 'engine', operations: ['chat'] }],
  proxies: [{ prefix: '/plain', upstream: 'engine' }],
};
const STACK = /\n\s+at |node:internal|Error:/;

/** A gateway that cannot be what it was told to be does not start, and says why. */
describe('a start', () => {
  let free: Server;
  let port: number;

  beforeAll(async () => {
    free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    port = (free.address() as AddressInfo).port;
  });

  it('of a command is no fault when its reader has seen enough', async () => {
    const script = `"${process.execPath}" "${MAIN}" check --config config/gateway.yaml | head -n 1; echo "\${PIPESTATUS[0]}"`;
    const child = spawn('bash', ['-c', script], { stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { out: '', err: '' };
    child.stdout.on('data', (bytes: Buffer) => (said.out += bytes.toString()));
    child.stderr.on('data', (bytes: Buffer) => (said.err += bytes.toString()));
    await once(child, 'close');
    expect(said.err).toBe('');
    expect(said.out.trimEnd().split('\n')).toHaveLength(2);
    expect(said.out).toMatch(/\n0\n$/);
  });

  afterAll(() => free.close());

  /** Why a start failed, as it was printed. */
  async function refusal(config: string | GatewayOptions): Promise<string> {
    const started = await startGateway(config).then(
      async (gateway) => {
        await gateway.stop();
        return 'it started';
      },
      (error: unknown) => String(error),
    );
    return started.replace(/^Error: /, '');
  }

  const yaml = gatewayYaml(OPTIONS);

  it.each([
    ['an unknown key', yaml.replace('headersTimeout:', 'headersTimeuot:'), 'server.headersTimeuot'],
    ['a missing timeout', yaml.replace(/^ {6}read: 10s\n/m, ''), 'timeouts.read'],
    ['a negative limit', yaml.replace('connections: 64', 'connections: -1'), 'upstreams[0].connections'],
    [
      'a duplicate model',
      gatewayYaml({ ...OPTIONS, models: [...(OPTIONS.models ?? []), ...(OPTIONS.models ?? [])] }),
      'models[1]',
    ],
    ['a model of no upstream', yaml.replace(/upstream: engine\n/, 'upstream: nobody\n'), 'models[0].upstream'],
    ['a file that is no YAML', 'server: [', ':1:'],
    ['an empty file', '', 'is empty'],
  ])('D6 is refused with the path of the key for %s', async (_, config, path) => {
    const why = await refusal(config);
    expect(why).toContain('ended (1) before it listened');
    expect(why).toContain(path);
    expect(why).not.toContain('"msg":"listening"');
    expect(why).not.toMatch(STACK);
  });

  it.each(['listen', 'management'])(
    'D6 is refused where the address of %s is taken, and leaves nothing open',
    async (key) => {
      const why = await refusal({ ...OPTIONS, server: { [key]: `127.0.0.1:${String(port)}` } });
      expect(why).toContain('ended (1) before it listened');
      expect(why).toContain(String(port));
      expect(why).not.toContain('"msg":"listening"');
      expect(why).not.toMatch(STACK);
    },
  );

  it('tells the limits that are in force in one line', async () => {
    const gateway = await startGateway(OPTIONS);
    const lines = gateway.logs().filter(({ msg }) => msg === 'listening');
    await gateway.stop();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ limits: [{ upstream: 'engine', connections: 64, slots: 32, per_endpoint: 32 }] });
  });

  it.each([
    ['no command', []],
    ['a command that there is not', ['sreve']],
    ['no configuration', ['serve']],
    ['a configuration that is not there', ['serve', '--config', '/nowhere/gateway.yaml']],
    ['an option that there is not', ['serve', '--confg', 'x']],
  ])('exits 1 with a readable message, and no stack, for %s', async (_, argv) => {
    const child = spawn(process.execPath, [MAIN, ...argv], { env: { PATH: process.env['PATH'] ?? '' } });
    const heard: Buffer[] = [];
    child.stderr.on('data', (bytes: Buffer) => heard.push(bytes));
    const [code] = (await once(child, 'close')) as [number];
    const text = Buffer.concat(heard).toString();
    expect(code).toBe(1);
    expect(text).toContain('gateway');
    expect(text).not.toMatch(STACK);
  });
});
