// A refusal with all that this gateway's own has, by the shortest way in Node: whose token it is by its
// digest, which model by the body, a problem with the id of the request, and a line of a log.
import { hash, randomUUID } from 'node:crypto';
import { write } from 'node:fs';

const PAGE_CHARS = 60_000;
const FLUSH_AFTER_MS = 100;
const STDOUT = 1;
const DETAIL = 'All slots are taken, and as many requests of band bronze wait already as may (overloaded).';

const tenants = new Map();
let page = '';

function tenantOf(authorization) {
  const digest = hash('sha256', authorization, 'base64');
  let tenant = tenants.get(digest);
  if (tenant === undefined) tenants.set(digest, (tenant = `tenant-${tenants.size}`));
  return tenant;
}

function flush() {
  if (page !== '') write(STDOUT, page, (error) => error && process.exit(1));
  page = '';
}

function log(line) {
  if (page === '') setTimeout(flush, FLUSH_AFTER_MS);
  page += line;
  if (page.length > PAGE_CHARS) flush();
}

function problemOf(id) {
  const text = JSON.stringify({
    ...{ band: 'bronze', waiting: 16, waited_ms: 0, type: 'https://api.example.com/problems/queue-full' },
    ...{ title: 'The queue is full', status: 503, detail: DETAIL, instance: `urn:uuid:${id}`, request_id: id },
    retry_after: 3,
    error: { message: DETAIL, type: 'server_error', param: null, code: 'queue_full' },
  });
  return Buffer.from(text);
}

/** Refuses a request whose body has been read. */
export function refusePlainly(request, body, response) {
  const startedAt = performance.now();
  const tenant = tenantOf(request.headers.authorization ?? '');
  const { model } = JSON.parse(body);
  const id = randomUUID();
  const problem = problemOf(id);
  response.writeHead(503, [
    ...['x-request-id', id, 'content-type', 'application/problem+json', 'x-content-type-options', 'nosniff'],
    ...['retry-after', '3', 'content-length', String(problem.length)],
  ]);
  response.end(problem);
  const tookMs = Math.round(performance.now() - startedAt);
  log(
    `{"level":40,"time":${Date.now()},"request_id":"${id}","route":"${request.url}","method":"${request.method}",` +
      `"dialect":"openai","model":"${model}","upstream":"held","tenant":"${tenant}","band":"bronze","status":503,` +
      `"phase":"queued","queue_ms":0,"duration_ms":${tookMs},"request_bytes":${body.length},` +
      `"response_bytes":${problem.length},"tokens":0,"reason":"queue_full","msg":"request rejected"}\n`,
  );
}
