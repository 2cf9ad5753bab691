import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, loadavg, release } from 'node:os';
import { portkeyVersion } from './peers.mjs';

const require = createRequire(import.meta.url);

/** What has to be known of a machine and of what ran on it to read the figures. */
export function conditionsOf(apart) {
  const { devDependencies, dependencies } = JSON.parse(
    readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
  );
  return {
    day: new Date().toISOString().slice(0, 10),
    machine: `${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${cpus().length} processors, Linux ${release().split('-')[0]}`,
    apart,
    load: loadavg()[0].toFixed(1),
    versions: {
      node: process.versions.node,
      undici: dependencies.undici,
      nginx: nginxVersion(),
      '@fastify/http-proxy': devDependencies['@fastify/http-proxy'],
      fastify: require('fastify/package.json').version,
      '@portkey-ai/gateway': portkeyVersion(),
    },
  };
}

function nginxVersion() {
  const { stderr } = spawnSync('nginx', ['-v'], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin` },
  });
  return /nginx\/(\S+)/.exec(stderr ?? '')?.[1] ?? 'none';
}
