/** Links to a request's story. */
import { el, mark, say } from './dom.js';

const PREFIX = '#request=';

export const hrefOf = (requestId) => `${PREFIX}${encodeURIComponent(requestId)}`;

/** The id that the address names; undefined: none. */
export function requestIn(hash) {
  if (!hash.startsWith(PREFIX)) return undefined;
  try {
    return decodeURIComponent(hash.slice(PREFIX.length));
  } catch {
    // Half an escape sequence is an id that nobody has.
    return hash.slice(PREFIX.length);
  }
}

/** `{ root, set(requestId) }`; an id that is not known leaves the link out. */
export function requestLink() {
  const root = el('a', { class: 'mono id' });
  return {
    root,
    set(requestId) {
      root.hidden = requestId === undefined;
      say(root, requestId ?? '');
      mark(root, 'href', requestId === undefined ? undefined : hrefOf(requestId));
      mark(root, 'title', requestId);
    },
  };
}
