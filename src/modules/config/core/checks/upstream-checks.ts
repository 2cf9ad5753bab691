import { OPERATIONS } from '../../../../common/canonical/canonical-request.js';
import { entries, known, reportRepeats, reportUnknown, type Check, type Sections } from '../sections.js';

/** A binary fraction's error must not ask for one place more: 1.1 x 10 is 11. */
const ROUNDING = 1e-9;

export const checkNames: Check = (config, report) => {
  const names = config.upstreams?.map((upstream) => upstream.name);
  reportRepeats(names, { list: 'upstreams', key: 'name' }, report);
  reportRepeats(
    config.models?.map((model) => model.id),
    { list: 'models', key: 'id' },
    report,
  );
  for (const [model, path] of entries(config.models, 'models')) {
    reportUnknown(model.upstream, { path: `${path}.upstream`, what: 'the name of an upstream', names }, report);
  }
};

export const checkUpstreamLimits: Check = (config, report) => {
  for (const [{ connections, slots, observe }, path] of entries(config.upstreams, 'upstreams')) {
    const { limit } = slots ?? {};
    if (connections !== undefined && limit !== undefined && connections < limit) {
      report(`${path}.connections`, `is below slots.limit (${limit}): a granted request would wait for a socket`);
    }
    const { timeoutMs, intervalMs } = observe ?? {};
    if (timeoutMs !== undefined && intervalMs !== undefined && timeoutMs >= intervalMs) {
      report(`${path}.observe.timeout`, 'is not below observe.interval');
    }
  }
};

/** A ceiling above 1 reaches into a reserve, which only the engine's own queue can be. */
export const checkReserve: Check = (config, report) => {
  const ceiling = highestCeiling(config);
  if (ceiling <= 1) return;
  for (const [{ slots, observe }, path] of entries(config.upstreams, 'upstreams')) {
    if (slots?.perEndpoint === undefined || observe?.maxInflight === undefined) continue;
    const needed = Math.ceil(ceiling * slots.perEndpoint - ROUNDING);
    if (observe.maxInflight >= needed) continue;
    report(
      `${path}.observe.maxInflight`,
      `is below ${needed}, which the highest band's ceiling (${ceiling} x slots.perEndpoint ${slots.perEndpoint}) needs`,
    );
  }
};

const highestCeiling = (config: Sections): number =>
  Math.max(0, ...known(config.admission?.bands?.map((band) => band.ceiling)));

export const checkBodyMemory: Check = ({ server, operations }, report) => {
  const memory = server?.bodyMemoryBytes;
  for (const name of OPERATIONS) {
    const body = operations?.[name]?.maxBodyBytes;
    if (memory === undefined || body === undefined || body <= memory) continue;
    report(
      `operations.${name}.maxBody`,
      `is above server.bodyMemory (${memory} bytes): such a body could never be held`,
    );
  }
};
