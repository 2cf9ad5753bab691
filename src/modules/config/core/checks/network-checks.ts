import { isIPv4, isIPv6, BlockList } from 'node:net';
import { parseHostPort, parseNetwork } from '../../../../common/config/addresses.js';
import { entries, type Check } from '../sections.js';

/** Networks shorter than these hold ordinary pods too, whose word would be taken for the ingress's. */
const NARROW_ENOUGH = { 4: 8, 6: 32 } as const;

const ANY_ADDRESS = new Set(['0.0.0.0', '::']);

/** Names and addresses at which clouds hand credentials to whoever asks from inside. */
const METADATA_NAMES = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
]);
const METADATA_ADDRESSES = metadataAddresses();

function metadataAddresses(): BlockList {
  const list = new BlockList();
  list.addSubnet('169.254.0.0', 16, 'ipv4');
  list.addAddress('100.100.100.200', 'ipv4');
  list.addAddress('168.63.129.16', 'ipv4');
  list.addSubnet('fe80::', 10, 'ipv6');
  list.addAddress('fd00:ec2::254', 'ipv6');
  return list;
}

export const checkListeners: Check = ({ server }, report) => {
  const listen = parseHostPort(server?.listen ?? '');
  const management = parseHostPort(server?.management ?? '');
  if (listen === undefined || management === undefined) return;
  if (listen.port === 0 || listen.port !== management.port) return;
  const sameHost = listen.host.toLowerCase() === management.host.toLowerCase();
  if (!sameHost && !ANY_ADDRESS.has(listen.host) && !ANY_ADDRESS.has(management.host)) return;
  report('server.management', 'is the address of server.listen too: metrics must not stand on the public surface');
};

export const checkUpstreamUrls: Check = ({ upstreams }, report) => {
  for (const [upstream, path] of entries(upstreams, 'upstreams')) {
    if (upstream.url === undefined || !isMetadataHost(new URL(upstream.url).hostname)) continue;
    report(`${path}.url`, 'is a link-local or metadata address, which no upstream may have');
  }
};

/** Takes a host as `URL` normalises it: every notation of an IPv4 address is a dotted one by then. */
function isMetadataHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$|\.$/gu, '').toLowerCase();
  if (isIPv4(host)) return METADATA_ADDRESSES.check(host, 'ipv4');
  if (isIPv6(host)) return METADATA_ADDRESSES.check(host, 'ipv6');
  return METADATA_NAMES.has(host);
}

/** Warnings, not faults: there are clusters where it is meant. */
export const warnOfWideNetworks: Check = ({ server, auth }, report) => {
  const networks = [
    ...entries(server?.trustedProxies, 'server.trustedProxies'),
    ...entries(auth?.identityFrom, 'auth.identityFrom'),
  ];
  for (const [text, path] of networks) {
    const network = parseNetwork(text);
    if (network === undefined || network.prefixLength >= NARROW_ENOUGH[network.family]) continue;
    report(path, 'is so wide a network that it holds ordinary pods: any of them can say who it is');
  }
};
