import { OPERATIONS } from '../../../../common/canonical/canonical-request.js';
import { entries, reportRepeats, type Check } from '../sections.js';

/** Fields that hold credentials or come from every client: none of them can say something else besides. */
const TAKEN_FIELDS = ['authorization', 'proxy-authorization', 'cookie', 'x-api-key'];

export const checkAuth: Check = ({ auth }, report) => {
  if (auth === undefined) return;
  reportRepeats(
    auth.issuers?.map((issuer) => issuer.issuer),
    { list: 'auth.issuers', key: 'issuer' },
    report,
  );
  if (auth.enabled === true && auth.issuers?.length === 0) {
    report('auth.enabled', 'needs at least one entry in auth.issuers: no token could be valid');
  }
  if (auth.enabled === true && auth.bandHeaderTrust === 'any') {
    report('auth.bandHeaderTrust', 'would let any caller choose its band: with auth.enabled it must be lower');
  }
  const { keyRefreshMs, maxKeyAgeMs } = auth;
  if (keyRefreshMs !== undefined && maxKeyAgeMs !== undefined && keyRefreshMs >= maxKeyAgeMs) {
    report('auth.keyRefresh', 'is not below auth.maxKeyAge: keys would end before they are fetched anew');
  }
};

/** Each field that auth reads tells one thing. */
export const checkIdentityFields: Check = ({ auth, proxies }, report) => {
  const { bandHeader, tenantHeader } = auth ?? {};
  if (bandHeader !== undefined && bandHeader === tenantHeader) report('auth.tenantHeader', 'is auth.bandHeader too');
  const identity = [
    [bandHeader, 'auth.bandHeader'],
    [tenantHeader, 'auth.tenantHeader'],
  ] as const;
  const tokens = entries(proxies, 'proxies').map(
    ([proxy, path]) => [proxy.tokenHeader, `${path}.tokenHeader`] as const,
  );
  for (const [name, path] of [...identity, ...tokens]) {
    if (name !== undefined && TAKEN_FIELDS.includes(name)) report(path, 'is a field of credentials that clients send');
  }
  for (const [name, path] of tokens) {
    const other = identity.find(([own]) => own !== undefined && own === name);
    if (other !== undefined) report(path, `is ${other[1]} too`);
  }
};

/** A group can be demanded only of a token, and read only where the claim is known. */
export const checkGroups: Check = ({ auth, operations, proxies }, report) => {
  const demands = [
    ...OPERATIONS.map((name) => [operations?.[name], `operations.${name}`] as const),
    ...entries(proxies, 'proxies'),
  ];
  for (const [demand, path] of demands) {
    if (demand?.group === undefined) continue;
    if (auth !== undefined && auth.groupsClaim === undefined)
      report(`${path}.group`, 'needs auth.groupsClaim: without it no token has groups');
    if (demand.scope === 'public') report(`${path}.group`, 'is never asked for: the scope is public');
  }
};

/** Warnings: a token ends, and what was opened with it may not. */
export const warnOfEndlessSockets: Check = ({ auth, proxies }, report) => {
  if (auth?.enabled !== true) return;
  for (const [proxy, path] of entries(proxies, 'proxies')) {
    if (proxy.websocket !== true || proxy.scope === 'public' || proxy.timeouts?.totalMs !== undefined) continue;
    report(`${path}.websocket`, 'without timeouts.total lets a socket outlive its token for as long as it likes');
  }
};

/** Warnings: whoever can answer for the issuer can make tokens. */
export const warnOfPlainKeys: Check = ({ auth }, report) => {
  if (auth?.enabled !== true) return;
  for (const [{ jwksUri }, path] of entries(auth.issuers, 'auth.issuers')) {
    if (jwksUri?.startsWith('http:') !== true) continue;
    report(`${path}.jwksUri`, 'is not https: whoever stands in between can give itself any identity');
  }
};
