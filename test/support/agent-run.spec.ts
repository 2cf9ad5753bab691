import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { AgentFolder, type AgentEnd } from './agent-run.js';

let folder: AgentFolder;
let server: Server;

beforeEach(async () => {
  folder = await AgentFolder.make();
  server = createServer((_request, response) => response.end('from here')).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  if (existsSync(folder.home)) await folder.remove();
});

async function runScript(source: string, args: readonly string[] = []): Promise<AgentEnd> {
  const script = join(folder.work, 'script.mjs');
  await writeFile(script, source);
  return folder.run({ script, args, env: { TEAM: 'blue' }, settings: { 'deep/down.json': '{}' } });
}

describe('an agent that is run', () => {
  it('reaches this machine and nothing else, whichever way it connects', async () => {
    const { port } = server.address() as AddressInfo;
    const end = await runScript(
      `import { get } from 'node:https';
       import { connect } from 'node:net';
       const failure = (emitter) => new Promise((resolve) => emitter.once('error', ({ code }) => resolve(code)));
       const refused = await Promise.all([
         fetch('http://outside.test/').catch(({ cause }) => cause.code),
         failure(get('https://secure.test/')),
         failure(connect(80, '192.0.2.1')),
         failure(connect({ port: 80, host: '2001:db8::1' })),
       ]);
       console.log(await (await fetch(process.argv[2])).text(), ...new Set(refused));`,
      [`http://127.0.0.1:${String(port)}/`],
    );
    expect(end).toMatchObject({ code: 0, stdout: 'from here ENETUNREACH\n', stderr: '' });
    expect(end.outsideHosts.toSorted()).toEqual(['192.0.2.1', '2001:db8::1', 'outside.test', 'secure.test']);
  });

  it('sees its settings, what it was given, and nothing of the home of who runs it', async () => {
    const { stdout } = await runScript(
      `import { readFileSync } from 'node:fs';
       import { homedir } from 'node:os';
       const { TEAM, HOME, XDG_CONFIG_HOME } = process.env;
       const settings = readFileSync(HOME + '/deep/down.json', 'utf8');
       console.log(JSON.stringify([TEAM, settings, homedir(), XDG_CONFIG_HOME, process.cwd()]));`,
    );
    expect(JSON.parse(stdout)).toEqual(['blue', '{}', folder.home, `${folder.home}/.config`, folder.work]);
  });

  it('leaves no child behind that would hold its outputs open', async () => {
    // The run would never end: it waits for all that was printed.
    const end = await runScript(
      `import { spawn } from 'node:child_process';
       const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1_000)'], { stdio: 'inherit' });
       child.once('spawn', () => process.exit(3));`,
    );
    expect(end).toEqual({ code: 3, stdout: '', stderr: '', outsideHosts: [] });
  });

  it('takes its folders with it', async () => {
    await runScript('');
    await folder.remove();
    expect(existsSync(folder.home)).toBe(false);
  });
});
