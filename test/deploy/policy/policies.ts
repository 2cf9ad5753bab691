import type { GatewayConfig } from '../../../src/modules/config/gateway.config.js';
import type { Cluster } from '../cluster.js';
import {
  edgeLetsGoFirst,
  edgePassesStreams,
  edgeReachesOnlyTraffic,
  edgeTakesBodies,
  edgeWaitsLongEnough,
  servicesMatch,
} from './edge-policy.js';
import { callersAreKnown, callsAreAllowed, otherCallsAreNot } from './network-policy.js';
import { alertsSaySomething, argoApplies, metricsAreScraped } from './watch-policy.js';
import {
  disruptionIsBounded,
  graceFits,
  hasResources,
  imagesAreCommits,
  isConfined,
  isSpread,
  portsMatch,
  probesAsk,
  replicasMatch,
  rollsOverWithoutLoss,
} from './workload-policy.js';

/** What is wrong with a deployment, held against the gateway's own configuration. */
export type Policy = (cluster: Cluster, config: GatewayConfig) => string[];

export const POLICIES = {
  graceFits,
  replicasMatch,
  rollsOverWithoutLoss,
  isConfined,
  imagesAreCommits,
  hasResources,
  isSpread,
  probesAsk,
  portsMatch,
  disruptionIsBounded,
  edgePassesStreams,
  edgeWaitsLongEnough,
  edgeLetsGoFirst,
  edgeTakesBodies,
  edgeReachesOnlyTraffic,
  servicesMatch,
  callsAreAllowed,
  otherCallsAreNot,
  callersAreKnown,
  metricsAreScraped,
  alertsSaySomething,
  argoApplies,
} satisfies Readonly<Record<string, Policy>>;

export type PolicyName = keyof typeof POLICIES;

/** Every fault, with the name of the policy that it offends. */
export const faultsOf = (cluster: Cluster, config = cluster.config()): [PolicyName, string][] =>
  (Object.entries(POLICIES) as [PolicyName, Policy][]).flatMap(([name, policy]) =>
    policy(cluster, config).map((fault): [PolicyName, string] => [name, fault]),
  );
