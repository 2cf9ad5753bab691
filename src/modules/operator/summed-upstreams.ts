import { byTurn, type BandQueue, type QueueHead, type TenantQueue } from '../admission/queue-snapshot.js';
import { usableSaturation } from '../admission/usable-saturation.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import { engineSide, type EndpointView, type UpstreamView } from './upstream-view.js';

/** The members of a group, by the group's key, in the order in which they came. */
function grouped<T>(items: readonly T[], keyOf: (item: T) => string): [T, ...T[]][] {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return [...groups.values()];
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

/** One upstream as several processes of one gateway see it. */
export function summedUpstream(views: readonly [UpstreamView, ...UpstreamView[]]): UpstreamView {
  const of = (member: 'inUse' | 'requests' | 'waiting'): number => sum(views.map((view) => view[member]));
  const endpoints = grouped(
    views.flatMap((view) => view.endpoints),
    ({ endpoint }) => endpoint,
  ).map(summedEndpoint);
  return {
    ...{ upstream: views[0].upstream, inUse: of('inUse'), requests: of('requests'), waiting: of('waiting') },
    limit: views[0].limit,
    saturation: usableSaturation(endpoints) ?? views[0].saturation,
    endpoints,
    bands: grouped(
      views.flatMap(({ bands }) => bands),
      ({ band }) => band,
    ).map(summedBand),
  };
}

/** By upstream. `names`: in this order, and none that is not there. */
export const summedUpstreams = (
  parts: readonly (readonly UpstreamView[])[],
  names: readonly string[],
): UpstreamView[] =>
  grouped(parts.flat(), ({ upstream }) => upstream)
    .map(summedUpstream)
    .sort((a, b) => names.indexOf(a.upstream) - names.indexOf(b.upstream));

/** What the engines say of themselves, as the process has read it that polls them. */
export function withEngines(view: UpstreamView, engines: readonly Endpoint[], now: number): UpstreamView {
  const engineOf = new Map(engines.map((engine) => [engine.id, engine]));
  const endpoints = view.endpoints.map((one) => ({ ...one, ...engineSide(engineOf.get(one.endpoint), now) }));
  return { ...view, endpoints };
}

/** Where there are no other gateways, whoever else holds a place is one of the processes that are added up here. */
export const withoutOthers = (view: UpstreamView): UpstreamView => ({
  ...view,
  endpoints: view.endpoints.map((one) => ({ ...one, placesOfAll: one.places })),
});

/**
 * What each process has of its own is added up. What it sees besides is told by the others, and may have come to nothing
 * since (a place that was asked for in vain): the process that sees the least is nearest to how it is.
 */
function summedEndpoint(views: readonly [EndpointView, ...EndpointView[]]): EndpointView {
  const least = (member: 'placesOfAll' | 'saturation' | 'kvReservedTokens' | 'prefillBacklogMs'): number =>
    Math.min(...views.map((view) => view[member]));
  const places = sum(views.map((view) => view.places));
  const rates = views.flatMap(({ prefillTokensPerSecond: rate }) => (rate === undefined ? [] : [rate]));
  return {
    ...views[0],
    ...{ places, placesOfAll: Math.max(places, least('placesOfAll')), down: views.some(({ down }) => down) },
    saturation: Math.max(places / views[0].slots, least('saturation')),
    ...{ kvReservedTokens: least('kvReservedTokens'), prefillBacklogMs: least('prefillBacklogMs') },
    prefillTokensPerSecond: rates.length === 0 ? undefined : Math.round(sum(rates) / rates.length),
  };
}

function summedBand(queues: readonly [BandQueue, ...BandQueue[]]): BandQueue {
  const tenants = grouped(
    queues.flatMap((queue) => queue.tenants),
    ({ tenant }) => tenant,
  );
  const heads = grouped(
    queues.flatMap((queue) => queue.heads),
    ({ kind }) => kind,
  );
  return {
    band: queues[0].band,
    depth: sum(queues.map(({ depth }) => depth)),
    oldestMs: Math.max(...queues.map(({ oldestMs }) => oldestMs)),
    heads: heads.map(firstOf),
    tenants: tenants.map(summedTenant).sort(byTurn),
  };
}

const summedTenant = (lines: readonly [TenantQueue, ...TenantQueue[]]): TenantQueue => ({
  tenant: lines[0].tenant,
  service: Math.max(...lines.map(({ service }) => service)),
  depth: sum(lines.map(({ depth }) => depth)),
  oldestMs: Math.max(...lines.map(({ oldestMs }) => oldestMs)),
});

/** Whose turn it is: of those that do not leave theirs to another process the one that has waited longest. */
function firstOf(heads: readonly [QueueHead, ...QueueHead[]]): QueueHead {
  const yields = ({ heldBy }: QueueHead): number => Number(heldBy === 'yield');
  return [...heads].sort((a, b) => yields(a) - yields(b) || b.waitedMs - a.waitedMs)[0] ?? heads[0];
}
