import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { untilHealthy } from './children.mjs';
import { freePort } from './free-port.mjs';
import { IMAGE } from '../../../scripts/build-image.mjs';
import { gatewayConfig } from './gateway-config.mjs';
import { nginxConfig } from './nginx-config.mjs';
import { PORTKEY_PROGRAM, portkeyLacking } from './peers.mjs';

const program = (path) => fileURLToPath(new URL(`../programs/${path}`, import.meta.url));
const GATEWAY = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const PRODUCTION = { NODE_ENV: 'production' };
const DEBIAN_PATH = { PATH: `${process.env.PATH ?? ''}:/usr/sbin` };
/** As the image starts it, but for the share of a container's memory. */
const NODE_FLAGS = IMAGE.entrypoint.slice(1, -1).filter((flag) => !flag.startsWith('--max-old-space-size'));

const CHAT = '/v1/chat/completions';
const MESSAGES = '/llm/v1/messages';

/** How each is started, and asked. `direct` is the engine itself. The order is that of the tables. */
const TARGETS = {
  direct: { paths: { openai: CHAT } },
  bare: { ...nodeTarget(program('bare-relay.mjs')), logs: true },
  dispatch: nodeTarget(program('bare-relay.mjs')),
  gateway: {
    command: gatewayCommand,
    env: () => PRODUCTION,
    health: '/readyz',
    logs: true,
    paths: { openai: CHAT, anthropic: MESSAGES },
  },
  nginx: { command: nginxCommand, env: () => DEBIAN_PATH, paths: { openai: CHAT }, lacking: nginxLacking },
  'http-proxy': nodeTarget(program('http-proxy.mjs')),
  portkey: {
    command: ({ port }) => [process.execPath, PORTKEY_PROGRAM, '--headless', `--port=${port}`],
    env: () => PRODUCTION,
    health: '/',
    paths: { openai: CHAT },
    headers: ({ engineUrl }) => ({ 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${engineUrl}/v1` }),
    lacking: portkeyLacking,
  },
};

export const TARGET_NAMES = Object.keys(TARGETS);

function nodeTarget(path) {
  return {
    command: () => [process.execPath, path],
    env: ({ port, engineUrl }) => ({ PORT: String(port), UPSTREAM: engineUrl }),
    paths: { openai: CHAT },
  };
}

function gatewayCommand(place) {
  const file = join(place.folder, 'gateway.yaml');
  writeFileSync(file, gatewayConfig(place));
  const profiling = place.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${place.profile}`];
  return [process.execPath, ...NODE_FLAGS, ...profiling, GATEWAY, 'serve', '--config', file];
}

function nginxCommand(place) {
  writeFileSync(join(place.folder, 'nginx.conf'), nginxConfig(place));
  return ['nginx', '-p', place.folder, '-e', 'stderr', '-c', 'nginx.conf'];
}

function nginxLacking() {
  const { status } = spawnSync('nginx', ['-v'], { env: { ...process.env, ...DEBIAN_PATH } });
  return status === 0 ? undefined : "nginx is not installed (Debian's nginx-light will do)";
}

/** Why targets cannot be measured, by name; of those that can, nothing. */
export async function lackingTargets(names, children) {
  const lacking = new Map();
  for (const name of names) {
    const why = await TARGETS[name].lacking?.(children);
    if (why !== undefined) lacking.set(name, why);
  }
  return lacking;
}

/** One that is measured: a process, or the engine itself. */
class Target {
  constructor(name, place, child) {
    this.name = name;
    this.place = place;
    this.child = child;
  }

  /** It and its workers. The engine itself is nobody's to count. */
  get pids() {
    return this.child?.pids ?? [];
  }

  /** What a load order needs to know of it. `dialect`: in which it is asked. */
  to(token, dialect = 'openai') {
    const { headers, paths } = TARGETS[this.name];
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return { port: this.place.port, path: paths[dialect], headers: { ...authorization, ...headers?.(this.place) } };
  }

  async metrics() {
    const answer = await fetch(`http://127.0.0.1:${this.place.managementPort}/metrics`);
    return answer.text();
  }
}

/** Starts one in front of an engine. `surroundings`: { children, engine, issuer, folder, profile }. */
export async function startTarget(name, { children, engine, issuer, folder, profile }) {
  const { command, env, health = '/v1/models', logs } = TARGETS[name];
  if (command === undefined) return new Target(name, { port: engine.port }, undefined);
  const port = await freePort();
  const managementPort = await freePort();
  const place = {
    port,
    managementPort,
    folder,
    profile,
    engineUrl: engine.url,
    enginePort: engine.port,
    issuer: issuer.section,
  };
  // The log goes where the operating system writes it, as in production.
  const output = logs === true ? openSync(join(folder, `${name}.log`), 'w') : 'ignore';
  const child = children.start(name, command(place), { processor: 'target', env: env?.(place), output });
  if (output !== 'ignore') closeSync(output);
  await untilHealthy(child, `http://127.0.0.1:${port}${health}`);
  return new Target(name, place, child);
}

/** The engine that all of them ask. */
export async function startEngine(children) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const command = [process.execPath, program('engine.mjs')];
  const child = children.start('the engine', command, { processor: 'load', env: { PORT: String(port) } });
  await untilHealthy(child, `${url}/v1/models`);
  return { port, url };
}
