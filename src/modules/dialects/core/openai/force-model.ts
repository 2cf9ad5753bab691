import type { ScannedRequest } from '../scan-request.js';
import { edit, type Edit } from './splice-body.js';

/** Edits after which `model` is what every reader of the body finds, whatever the body says; none where it says so. */
export function forceModel(scan: ScannedRequest, model: string): Edit[] {
  const value = JSON.stringify(model);
  const named = scan.member('model');
  if (named !== undefined) {
    const { valueStart, valueEnd } = named;
    const same = scan.json.isString(valueStart) && scan.json.text(valueStart, valueEnd) === model;
    return same ? [] : [edit(valueStart, valueEnd, value)];
  }
  const miscased = scan.miscasedModel;
  if (miscased !== undefined) return [edit(miscased.keyStart, miscased.valueEnd, `"model":${value}`)];
  return [edit(scan.open + 1, scan.open + 1, `"model":${value}${scan.empty ? '' : ','}`)];
}
