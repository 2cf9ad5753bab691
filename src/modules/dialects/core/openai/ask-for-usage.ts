import { onlyMember } from '../request-members.js';
import type { ScannedRequest } from '../scan-request.js';
import { edit, type Edit } from './splice-body.js';

const OPTIONS = '{"include_usage":true}';

/** Edits after which a stream ends with its usage; none where it does so already, or where there is no stream. */
export function askForUsage(scan: ScannedRequest): Edit[] {
  const stream = scan.member('stream');
  if (!scan.stream || stream === undefined || scan.includeUsage) return [];
  const options = scan.member('stream_options');
  if (options === undefined) return [edit(stream.valueEnd, stream.valueEnd, `,"stream_options":${OPTIONS}`)];
  const { json } = scan;
  const { valueStart, valueEnd } = options;
  const isEmpty = json.isNull(valueStart) || json.skipSpace(valueStart + 1) === valueEnd - 1;
  if (isEmpty) return [edit(valueStart, valueEnd, OPTIONS)];
  const asked = onlyMember(json, valueStart, 'include_usage', 'stream_options.include_usage');
  if (asked !== undefined) return [edit(asked.valueStart, asked.valueEnd, 'true')];
  return [edit(valueStart + 1, valueStart + 1, '"include_usage":true,')];
}
