import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const CONFIG = 'nginx.conf';
const LOOK_EVERY_MS = 20;
const WORKER_STARTED = 'start worker process ';
const WORKER_ENDING = 'gracefully shutting down';

/** Debian's nginx in front of some addresses, with what ingress-nginx writes for the annotations of `k8s/ingress.yaml`. */
export class Nginx {
  private readonly lines: string[] = [];

  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly port: number,
  ) {}

  /** `ports`: of the servers behind it, on the loopback. */
  static async start(port: number, ports: readonly number[]): Promise<Nginx> {
    const folder = await mkdtemp(join(tmpdir(), 'nginx-'));
    await writeFile(join(folder, CONFIG), configuration(folder, port, ports));
    const child = spawn('nginx', ['-p', folder, '-e', 'stderr', '-c', CONFIG], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` },
    });
    const nginx = new Nginx(child, folder, port);
    createInterface({ input: child.stderr }).on('line', (line) => nginx.lines.push(line));
    await nginx.said(WORKER_STARTED, 1);
    return nginx;
  }

  /** From now on these servers get the new requests; what runs goes on where it is. */
  async route(ports: readonly number[]): Promise<void> {
    const workers = this.count(WORKER_STARTED);
    const gone = this.count(WORKER_ENDING);
    await writeFile(join(this.folder, CONFIG), configuration(this.folder, this.port, ports));
    this.child.kill('SIGHUP');
    await Promise.all([this.said(WORKER_STARTED, workers + 1), this.said(WORKER_ENDING, gone + 1)]);
  }

  /** What it could not do, as it wrote it. */
  errors(): string[] {
    return this.lines.filter((line) => line.includes('[error]'));
  }

  /** Ends it, and whatever still runs in it. */
  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exited;
    await rm(this.folder, { recursive: true });
  }

  private count(notice: string): number {
    return this.lines.filter((line) => line.includes(notice)).length;
  }

  private async said(notice: string, times: number): Promise<void> {
    while (this.count(notice) < times) {
      if (this.child.exitCode !== null) throw new Error(`nginx has ended:\n${this.lines.join('\n')}`);
      await delay(LOOK_EVERY_MS);
    }
  }
}

/** Somebody listens there. */
export async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const answer = await Promise.race([once(socket, 'connect').then(() => true), once(socket, 'close').then(() => false)]).catch(() => false); // prettier-ignore
  socket.destroy();
  return answer;
}

const configuration = (folder: string, port: number, ports: readonly number[]): string => `
daemon off;
worker_processes 1;
pid ${folder}/pid;
error_log stderr notice;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  keepalive_timeout 75s;
  upstream gateways {
${ports.map((one) => `    server 127.0.0.1:${String(one)};`).join('\n')}
    keepalive 320;
    keepalive_timeout 60s;
    keepalive_requests 10000;
  }
  server {
    listen 127.0.0.1:${String(port)};
    client_max_body_size 8m;
    location / {
      proxy_pass http://gateways;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_connect_timeout 5s;
      proxy_read_timeout 4260s;
      proxy_send_timeout 4260s;
      proxy_next_upstream error;
      proxy_next_upstream_tries 3;
    }
  }
}
`;
