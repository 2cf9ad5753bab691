import { inLargestSize, inLargestUnit } from '../../common/config/quantities.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import type { UpstreamConfig } from '../../common/config/upstreams.config.js';
import type { Operation } from '../../common/canonical/canonical-request.js';
import type { RequestRecord } from '../../common/request-record.js';
import type { GatewayConfig } from '../../modules/config/gateway.config.js';
import { differencesOf, isObject, jsonIn, shownValue, type Difference } from '../json-differences.js';
import { rightsLine, timeoutsLine, type Limits } from '../limits-line.js';
import type { DryRun, SeenCall } from './dry-run.js';
import type { WrittenRequest } from './request-text.js';

type Lines = readonly (readonly [label: string, text: string])[];

/** Where a request would go, what it would look like there, and which limits it would meet: a line each. */
export function explain(config: GatewayConfig, request: WrittenRequest, run: DryRun): readonly string[] {
  const { record } = run;
  const lines: Lines = [
    ...(record === undefined ? [] : routeLines(config, record)),
    ...outcomeLines(request, run),
    ...(record === undefined ? [] : limitLines(config, record, request)),
  ];
  return [request.line, ...lines.map(([label, text]) => `  ${label.padEnd(LABEL_WIDTH)}${text}`)];
}

const LABEL_WIDTH = 10;

function routeLines(config: GatewayConfig, record: RequestRecord): Lines {
  const table = new RoutingTable(config);
  const alias = table.aliases.find(({ path }) => path === record.route);
  const model = record.model === undefined ? undefined : table.model(record.model);
  const upstream = config.upstreams.find(({ name }) => name === record.upstream);
  return [
    [
      'route',
      record.route + (alias === undefined ? '' : `, an alias: the model is ${alias.model} whatever the body says`),
    ],
    ...(record.dialect === undefined
      ? []
      : [['dialect', `${record.dialect}, operation ${record.operation ?? ''}`] as const]),
    ...(model === undefined ? [] : [['model', `${model.id}, context of ${model.contextLength} tokens`] as const]),
    ...(upstream === undefined ? [] : upstreamLines(upstream)),
  ];
}

function upstreamLines({ name, engine, url, discover, credentialFile }: UpstreamConfig): Lines {
  const { hostname } = new URL(url);
  const endpoints = discover === 'dns' ? `every address behind ${hostname} is an endpoint` : 'one endpoint';
  return [
    ['upstream', `${name} (${engine}) at ${url}, ${discover}: ${endpoints}`],
    ...(credentialFile === undefined ? [] : [['key', `Bearer, from ${credentialFile}`] as const]),
  ];
}

function outcomeLines(request: WrittenRequest, { record, calls, answer }: DryRun): Lines {
  const [call] = calls;
  if (call !== undefined) return calls.flatMap((one) => callLines(request, one));
  const { status, detail } = readAnswer(answer);
  if (record?.problem !== undefined) return [['refused', `${status} ${record.problem}: ${detail}`]];
  return [
    ['answered', status === undefined ? 'nothing: the request is not whole' : `${status}, by the gateway itself`],
  ];
}

function readAnswer(answer: string): { status: string | undefined; detail: string } {
  const body = jsonIn(answer.slice(answer.indexOf('\r\n\r\n') + 4));
  const detail = isObject(body) ? body['detail'] : undefined;
  return { status: /^HTTP\/1\.1 (\d{3})/u.exec(answer)?.[1], detail: typeof detail === 'string' ? detail : '' };
}

function callLines(request: WrittenRequest, { line, headers, body }: SeenCall): Lines {
  const withheld = request.headers.map(([name]) => name.toLowerCase()).filter((name) => headers[name] === undefined);
  return [
    ['sent as', `${line}, ${body.length} bytes`],
    ...edits(request.body, body).map((edit) => ['edit', edit] as const),
    ...(withheld.length === 0 ? [] : [['withheld', withheld.join(', ')] as const]),
  ];
}

/** What the gateway changes in a body. */
function edits(asked: Buffer, sent: Buffer): readonly string[] {
  if (asked.equals(sent)) return sent.length === 0 ? [] : ['none: the body goes on byte for byte'];
  const [before, after] = [asked, sent].map((bytes) => jsonIn(bytes.toString('utf8')));
  if (!isObject(before) || !isObject(after)) return ['the body is written anew'];
  const found = differencesOf(before, after);
  return found.length === 0 ? ['the body is written anew, and says the same'] : found.map(editOf);
}

function editOf({ path, left, right }: Difference): string {
  if (left === undefined) return `${path} is added: ${shownValue(right)}`;
  return right === undefined ? `${path} is left out` : `${path} was ${shownValue(left)}, becomes ${shownValue(right)}`;
}

function limitLines(config: GatewayConfig, record: RequestRecord, { body }: WrittenRequest): Lines {
  const limits = limitsOf(config, record);
  const upstream = config.upstreams.find(({ name }) => name === record.upstream);
  return [
    ...(limits === undefined ? [] : routeLimitLines(config, limits, body)),
    ...(upstream === undefined ? [] : slotLines(config, upstream, record)),
    ...(limits === undefined ? [] : [['budget', budgetLine(config, record)] as const]),
  ];
}

/** Of the operation, or of the prefix; undefined: a path of the gateway's own. */
function limitsOf(config: GatewayConfig, { operation, route }: RequestRecord): Limits | undefined {
  if (operation !== undefined) return config.operations[operation as Operation];
  return config.proxies.find(({ prefix }) => prefix === route);
}

function routeLimitLines({ auth }: GatewayConfig, limits: Limits, body: Buffer): Lines {
  const asked = auth.enabled ? 'the token must have it; here none was looked at' : 'auth is off: nobody is asked';
  return [
    ['rights', `${rightsLine(limits)} (${limits.scope === 'public' ? 'no token is asked for' : asked})`],
    ['body', `at most ${inLargestSize(limits.maxBodyBytes)}; this one has ${body.length} bytes`],
    ['timeouts', timeoutsLine(limits.timeouts)],
  ];
}

function slotLines(
  { admission }: GatewayConfig,
  { slots, observe }: UpstreamConfig,
  { principal }: RequestRecord,
): Lines {
  const band = admission.bands.find(({ name }) => name === principal?.band);
  const gate = [
    `${slots.limit} in flight, ${slots.perEndpoint} an endpoint`,
    ...(observe === undefined
      ? []
      : [
          `held while an endpoint has ${observe.maxInflight} or its KV cache is above ${observe.kvCeiling}`,
          `for ${inLargestUnit(observe.maxParkMs)} at most`,
        ]),
  ];
  return [
    ['slots', gate.join(', ')],
    ...(principal === undefined ? [] : [['caller', `tenant ${principal.tenant}`] as const]),
    ...(band === undefined
      ? []
      : [
          [
            'band',
            `${band.name}: waits above a saturation of ${band.ceiling}, with at most ${band.capacity} others, for ` +
              `${inLargestUnit(band.ttlMs)} at most`,
          ] as const,
        ]),
  ];
}

function budgetLine({ budgets }: GatewayConfig, { principal }: RequestRecord): string {
  const tenant = principal?.tenant ?? ANONYMOUS;
  if (tenant === ANONYMOUS) return 'none: nobody is named';
  const { requests, tokens } = budgets.tenants.find(({ name }) => name === tenant) ?? budgets.default;
  return `${requests} requests and ${tokens} tokens in ${inLargestUnit(budgets.windowMs)}`;
}

/** The tenant of whoever cannot be told apart. */
const ANONYMOUS = 'anonymous';
