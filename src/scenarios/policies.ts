import { controller } from './controller-gate.js';
import type { GateMaker } from './gate.js';
import { bandsAlone, gaugesAlone, gaugesAndLedger, noGate, perGateway } from './plain-rules.js';
import { exact, peers, shareOnly } from './sharing-gates.js';
import type { TestName } from '../modules/admission/core/pool-types.js';

/** A way to decide who runs next, by name. */
export interface Policy {
  readonly id: string;
  readonly title: string;
  /** As many as the reference figures were taken with; one where a store would make several act as one. */
  readonly gateways: number;
  readonly gate: GateMaker;
  /** It is about how several gateways share: with one of them it is the controller. */
  readonly shares?: boolean;
}

const CONTROLLER = 'this controller';

/** The gates that others use, then ours. */
export const POLICIES: readonly Policy[] = [
  { id: 'none', title: 'no gate', gateways: 3, gate: noGate },
  { id: 'per-gateway', title: '4 per gateway', gateways: 3, gate: perGateway },
  { id: 'gauges', title: 'gauges alone', gateways: 3, gate: gaugesAlone() },
  { id: 'ledger', title: 'gauges and own ledger', gateways: 3, gate: gaugesAndLedger },
  { id: 'bands', title: 'bands alone', gateways: 3, gate: bandsAlone },
  { id: 'share', title: `${CONTROLLER}, share only`, gateways: 3, gate: shareOnly(), shares: true },
  { id: 'peers', title: `${CONTROLLER}, peers`, gateways: 3, gate: peers(), shares: true },
  { id: 'exact', title: `${CONTROLLER}, exact`, gateways: 3, gate: exact(), shares: true },
  { id: 'controller', title: CONTROLLER, gateways: 1, gate: controller() },
  { id: 'strict', title: `${CONTROLLER}, strict reserve`, gateways: 1, gate: controller({ strictReserve: true }) },
];

/** The controller with one of its tests switched off. */
export const without = (test: TestName): Policy => ({
  id: `without-${test}`,
  title: `without ${test}`,
  gateways: 1,
  gate: controller({ without: [test] }),
});
