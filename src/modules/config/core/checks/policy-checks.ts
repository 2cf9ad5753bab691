import { entries, reportRepeats, reportUnknown, type Check } from '../sections.js';

export const checkBands: Check = ({ admission }, report) => {
  const names = admission?.bands?.map((band) => band.name);
  reportRepeats(names, { list: 'admission.bands', key: 'name' }, report);
  reportUnknown(admission?.defaultBand, { path: 'admission.defaultBand', what: 'the name of a band', names }, report);
};

/** Bands are served in their order: a lower one with more room would overtake. */
export const checkCeilings: Check = ({ admission }, report) => {
  let lowest = Infinity;
  for (const [{ ceiling }, path] of entries(admission?.bands, 'admission.bands')) {
    if (ceiling === undefined) continue;
    if (ceiling > lowest) report(`${path}.ceiling`, `is above ${lowest}, the ceiling of a band before it`);
    lowest = Math.min(lowest, ceiling);
  }
};

export const checkAdmission: Check = ({ admission, server }, report) => {
  const { store, peersSecretFile, heartbeatMs, heartbeatEventsAfterMs } = admission ?? {};
  if (store === 'peers' && peersSecretFile === undefined) {
    report('admission.store', 'needs admission.peersSecretFile: without a secret anyone could pass for a peer');
  }
  if (store === 'peers' && (server?.workers ?? 1) > 1) {
    report('server.workers', 'has to be 1 with admission.store: peers; several workers share by none or redis://');
  }
  if (heartbeatMs !== undefined && heartbeatEventsAfterMs !== undefined && heartbeatMs >= heartbeatEventsAfterMs) {
    report('admission.heartbeat', 'is not below admission.heartbeatEventsAfter');
  }
};

export const checkBudgets: Check = ({ budgets }, report) =>
  reportRepeats(
    budgets?.tenants?.map((tenant) => tenant.name),
    { list: 'budgets.tenants', key: 'name' },
    report,
  );
