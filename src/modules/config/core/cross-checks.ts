import {
  checkAuth,
  checkGroups,
  checkIdentityFields,
  warnOfEndlessSockets,
  warnOfPlainKeys,
} from './checks/auth-checks.js';
import { checkListeners, checkUpstreamUrls, warnOfWideNetworks } from './checks/network-checks.js';
import { checkAliases, checkAliasOperations, checkPrefixesApart, checkProxies } from './checks/path-checks.js';
import { checkAdmission, checkBands, checkBudgets, checkCeilings } from './checks/policy-checks.js';
import { checkTotals } from './checks/timeout-checks.js';
import { checkBodyMemory, checkNames, checkReserve, checkUpstreamLimits } from './checks/upstream-checks.js';
import type { Finding } from './finding.js';
import type { Check, Sections } from './sections.js';

const CHECKS: readonly Check[] = [
  checkListeners,
  checkUpstreamUrls,
  checkNames,
  checkUpstreamLimits,
  checkReserve,
  checkBodyMemory,
  checkTotals,
  checkAliases,
  checkAliasOperations,
  checkProxies,
  checkPrefixesApart,
  checkBands,
  checkCeilings,
  checkAdmission,
  checkAuth,
  checkIdentityFields,
  checkGroups,
  checkBudgets,
];

const WARNINGS: readonly Check[] = [warnOfWideNetworks, warnOfEndlessSockets, warnOfPlainKeys];

/** Names that must exist, sums that must hold: what no value can show by itself. */
export const crossFindings = (config: Sections): readonly Finding[] => findingsOf(CHECKS, config);

/** What works, but is probably not meant. */
export const crossWarnings = (config: Sections): readonly Finding[] => findingsOf(WARNINGS, config);

function findingsOf(checks: readonly Check[], config: Sections): readonly Finding[] {
  const findings: Finding[] = [];
  for (const check of checks) check(config, (path, message) => findings.push({ path, message, quotes: true }));
  return findings;
}
