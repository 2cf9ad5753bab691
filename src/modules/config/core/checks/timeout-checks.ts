import { OPERATIONS } from '../../../../common/canonical/canonical-request.js';
import { inLargestUnit } from '../../../../common/config/quantities.js';
import { entries, type Check } from '../sections.js';

/**
 * Below `connect` no connection could ever use the time that it is given. Below `read` is fine: an overall cap that is
 * shorter than the longest silence says what is meant.
 */
export const checkTotals: Check = ({ operations, proxies }, report) => {
  const routes = [
    ...OPERATIONS.map((name) => [operations?.[name], `operations.${name}`] as const),
    ...entries(proxies, 'proxies'),
  ];
  for (const [route, path] of routes) {
    const { connectMs, totalMs } = route?.timeouts ?? {};
    if (connectMs === undefined || totalMs === undefined || totalMs >= connectMs) continue;
    report(
      `${path}.timeouts.total`,
      `is below connect (${inLargestUnit(connectMs)}): the connection is part of the total, which must be as long at least`,
    );
  }
};
