import { absent, appeared, changes, increase, ofGateways, quantile, rate, series, type Expr } from './promql.js';

/** A state that somebody has to look at. */
export interface Alert {
  readonly name: string;
  readonly expr: Expr<string>;
  /** How long it has to last. */
  readonly lasts: string;
  /** critical: callers are turned away. warning: they soon may be, or nobody would notice if they were. */
  readonly severity: 'critical' | 'warning';
  readonly summary: string;
  readonly description: string;
}

const UPSTREAM = '{{ $labels.upstream }}';
const GATEWAY = '{{ $labels.instance }}';
const VALUE = '{{ $value | humanize }}';
const SHARE = '{{ $value | humanizePercentage }}';

const OVERLOAD = /queue_full|engine_saturated|queue_timeout/;
const BROKEN = /server_error|refused|reset|timeout/;

const GATEWAYS: readonly Alert[] = [
  {
    name: 'GatewayNoData',
    expr: absent('slots_limit'),
    lasts: '5m',
    severity: 'critical',
    summary: 'No gateway is being read.',
    description: 'Prometheus has had no metrics of any gateway for 5 minutes: none runs, or none can be reached.',
  },
  {
    name: 'GatewayRestarting',
    expr: ofGateways(changes('process_start_time_seconds', '30m').above(2)),
    lasts: '0m',
    severity: 'warning',
    summary: `${GATEWAY} keeps restarting.`,
    description: `${GATEWAY} has started ${VALUE} times within 30 minutes.`,
  },
  {
    name: 'GatewayEventLoopLag',
    expr: ofGateways(series('nodejs_eventloop_lag_p99_seconds').above(0.25)),
    lasts: '5m',
    severity: 'warning',
    summary: `The event loop of ${GATEWAY} is late.`,
    description: `One turn in a hundred is late by ${VALUE}s: every stream of this gateway stutters.`,
  },
  {
    name: 'GatewayDescriptorsRunOut',
    expr: ofGateways(series('process_open_fds').over(series('process_max_fds')).above(0.8)),
    lasts: '5m',
    severity: 'warning',
    summary: `${GATEWAY} runs out of descriptors.`,
    description: `${SHARE} of them are open; new connections are refused when none is left.`,
  },
  {
    name: 'GatewayInternalErrors',
    expr: increase('http_rejected_total', '10m', { reason: 'internal' })
      .sum('route')
      .above(0)
      .or(appeared('http_rejected_total', '10m', { reason: 'internal' }).sum('route').above(0)),
    lasts: '0m',
    severity: 'warning',
    summary: 'The gateway itself fails requests on {{ $labels.route }}.',
    description: `${VALUE} requests within 10 minutes were answered 500 by a fault of the gateway's own.`,
  },
];

const ENGINES: readonly Alert[] = [
  {
    name: 'GatewayEngineDown',
    expr: series('upstream_up').max('upstream').is(0),
    lasts: '2m',
    severity: 'critical',
    summary: `${UPSTREAM} is down.`,
    description: `No gateway has had an answer of ${UPSTREAM}, to a request or a probe, for 2 minutes.`,
  },
  {
    name: 'GatewayEngineErrors',
    expr: rate('upstream_requests_total', '10m', { outcome: BROKEN })
      .sum('upstream')
      .over(rate('upstream_requests_total', '10m').sum('upstream'))
      .above(0.1),
    lasts: '5m',
    severity: 'critical',
    summary: `${UPSTREAM} fails requests.`,
    description: `${SHARE} of the calls of ${UPSTREAM} end in an error of its own, a refusal, a reset or a timeout.`,
  },
  {
    name: 'GatewayObserverDegraded',
    expr: series('observer_degraded').max('upstream').is(1),
    lasts: '5m',
    severity: 'warning',
    summary: `The gauges of ${UPSTREAM} cannot be read.`,
    description: `A gauge that admission needs is missing or unreadable: ${UPSTREAM} is gated on the ledger alone.`,
  },
  {
    name: 'GatewayEngineStale',
    expr: increase('engine_state_stale_total', '15m').sum('upstream').above(0),
    lasts: '0m',
    severity: 'warning',
    summary: `What is known of ${UPSTREAM} has turned stale.`,
    description: `So many polls in a row have failed that the gate of ${UPSTREAM} has opened, within 15 minutes.`,
  },
  {
    name: 'GatewayEngineSaturated',
    expr: series('pool_saturation').min('upstream').above(0.99),
    lasts: '15m',
    severity: 'warning',
    summary: `${UPSTREAM} has been full for 15 minutes.`,
    description: `Even the endpoint that is least full is at ${SHARE}: callers of every band wait.`,
  },
  {
    name: 'GatewaySlotsLeaked',
    expr: series('upstream_in_flight')
      .sum('upstream')
      .above(0)
      .and(series('engine_requests_running').sum('upstream').is(0)),
    lasts: '15m',
    severity: 'warning',
    summary: `Slots of ${UPSTREAM} are held by nobody.`,
    description: `${VALUE} requests count as being at ${UPSTREAM}, and none of its engines runs any.`,
  },
];

const QUEUES: readonly Alert[] = [
  {
    name: 'GatewayQueueFilling',
    expr: series('admission_queue_depth').sum('upstream').above(series('slots_limit').max('upstream').times(2)),
    lasts: '10m',
    severity: 'warning',
    summary: `The queue of ${UPSTREAM} fills.`,
    description: `${VALUE} requests wait for ${UPSTREAM}, more than two for each slot that there is.`,
  },
  {
    name: 'GatewayQueueTimeouts',
    expr: increase('admission_rejected_total', '10m', { reason: 'queue_timeout' }).sum('upstream', 'band').above(5),
    lasts: '0m',
    severity: 'warning',
    summary: `Requests in band {{ $labels.band }} wait in vain for ${UPSTREAM}.`,
    description: `${VALUE} requests within 10 minutes have waited as long as their band allows and got no slot.`,
  },
  {
    name: 'GatewayTurnsCallersAway',
    expr: rate('admission_rejected_total', '10m', { reason: OVERLOAD })
      .sum('upstream')
      .over(rate('http_requests_total', '10m').sum('upstream'))
      .above(0.05),
    lasts: '5m',
    severity: 'critical',
    summary: `${UPSTREAM} is overloaded: callers are turned away.`,
    description: `${SHARE} of the requests for ${UPSTREAM} get no slot.`,
  },
  {
    name: 'GatewayFirstTokenSlow',
    expr: quantile(0.99, 'llm_ttft_seconds', { range: '15m', by: ['upstream'] }).above(60),
    lasts: '15m',
    severity: 'warning',
    summary: `First tokens of ${UPSTREAM} are slow.`,
    description: `One answer in a hundred waits ${VALUE}s or more for its first content; what is not streamed comes all at once.`,
  },
];

const STORES: readonly Alert[] = [
  {
    name: 'GatewayIdentityUnavailable',
    expr: increase('auth_rejected_total', '5m', { reason: 'jwks' }).sum().above(0),
    lasts: '2m',
    severity: 'critical',
    summary: 'Tokens cannot be verified.',
    description: `${VALUE} requests within 5 minutes were refused because the issuer's keys are missing or too old.`,
  },
  {
    name: 'GatewayKeysNotRefreshed',
    // What works of other issuers says nothing of the one that fails.
    expr: increase('jwks_refresh_total', '15m', { outcome: { not: 'ok' } })
      .sum()
      .above(0),
    lasts: '30m',
    severity: 'warning',
    summary: "An issuer's keys are not refreshed.",
    description: 'Fetches have failed again and again for 30 minutes: tokens are refused once the keys are too old.',
  },
  {
    name: 'GatewayBudgetStoreDown',
    expr: series('budget_store_up').min().is(0),
    lasts: '5m',
    severity: 'warning',
    summary: 'The store of the budgets is down.',
    description:
      'Each gateway grants its share of a budget meanwhile: a tenant whose requests are not spread evenly gets less than all.',
  },
  {
    name: 'GatewayAdmissionStoreDegraded',
    expr: series('admission_store_degraded').max().is(1),
    lasts: '5m',
    severity: 'warning',
    summary: 'The gateways no longer know of each other.',
    description: 'The store or the peers are out: each gateway keeps to its share, and free slots of others go unused.',
  },
];

export const ALERTS: readonly Alert[] = [...GATEWAYS, ...ENGINES, ...QUEUES, ...STORES];
