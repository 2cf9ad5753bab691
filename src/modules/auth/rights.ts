import type { Right } from '../../common/config/access-table.js';
import type { Principal } from '../../common/principal.js';

/** What the caller lacks for this. undefined: nothing; it may. */
export function lackOf({ scopes, groups }: Principal, right: Right): 'scope' | 'group' | undefined {
  // Auth is off: nobody has scopes, and none is asked for.
  if (scopes === undefined || !right.token) return undefined;
  if (right.scope !== undefined && !scopes.has(right.scope)) return 'scope';
  if (right.group !== undefined && groups?.has(right.group) !== true) return 'group';
  return undefined;
}
