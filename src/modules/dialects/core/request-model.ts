import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import type { ScannedBody } from './scan-request.js';

export const MAX_MODEL_BYTES = 256;
const QUOTED_CHARACTERS = 64;
const LISTED_MODELS = 12;
/** Some clients decide by these words in a message whether they try again. */
const LOADED_WORDS = /billing|quota|overloaded|rate.?limit|timeout|server_error/i;
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * The model that the body names, fit to be looked up. `validModels` are the ids that would be served here; a name that
 * is configured is looked at no further.
 * Throws `missing-model`, or `unknown-model` for a text that no id can be.
 */
export function requireModel(
  scan: ScannedBody,
  validModels: readonly string[],
  isConfigured: (id: string) => boolean = () => false,
): string {
  const member = scan.member('model');
  if (member === undefined) throw missingModel(absence(scan), validModels);
  const { valueStart, valueEnd } = member;
  if (!scan.json.isString(valueStart)) throw missingModel('The member "model" is not a string.', validModels);
  // An escape takes 6 bytes for at least one: what is longer than this is too long however it is written.
  if (valueEnd - valueStart - 2 > 6 * MAX_MODEL_BYTES) throw refusedModel(TOO_LONG, validModels);
  const model = scan.json.text(valueStart, valueEnd);
  if (isConfigured(model)) return model;
  const fault = faultOf(model);
  if (fault !== undefined) throw refusedModel(fault, validModels);
  return model;
}

/** A well-formed name that is not configured, or not for this operation's callers. */
export function unknownModel(model: string, validModels: readonly string[]): GatewayProblem {
  return refusedModel(`The model${quoted(model)} is not served here.`, validModels);
}

const TOO_LONG = `The member "model" is longer than ${MAX_MODEL_BYTES} bytes.`;

function absence(scan: ScannedBody): string {
  if (scan.miscasedModel !== undefined) return 'The member "model" is missing: its name is written in lower case.';
  return 'The member "model" is missing.';
}

function faultOf(model: string): string | undefined {
  if (model.trim() === '') return 'The member "model" is empty.';
  if (Buffer.byteLength(model) > MAX_MODEL_BYTES) return TOO_LONG;
  if (CONTROL_CHARACTER.test(model)) return 'The member "model" holds control characters.';
  if (!model.isWellFormed()) return 'The member "model" holds half of a surrogate pair.';
  if (model.trim() !== model) return `The model${quoted(model)} begins or ends with white space.`;
  return undefined;
}

function quoted(model: string): string {
  if (LOADED_WORDS.test(model)) return '';
  const short = model.length > QUOTED_CHARACTERS ? `${model.slice(0, QUOTED_CHARACTERS - 1)}…` : model;
  return ` ${JSON.stringify(short)}`;
}

const missingModel = (detail: string, validModels: readonly string[]): GatewayProblem =>
  new GatewayProblem('missing-model', {
    detail: detail + listed(validModels),
    param: 'model',
    extensions: { valid_models: validModels },
  });

const refusedModel = (detail: string, validModels: readonly string[]): GatewayProblem =>
  new GatewayProblem('unknown-model', {
    detail: detail + listed(validModels),
    param: 'model',
    extensions: { valid_models: validModels },
  });

/** SDKs show the message and nothing else of an error: so it says what there is, as far as that is readable. */
function listed(validModels: readonly string[]): string {
  const shown = validModels.slice(0, LISTED_MODELS).map((model) => JSON.stringify(model));
  if (shown.length === 0) return ' No model is served here.';
  return ` Served here: ${shown.join(', ')}${validModels.length > shown.length ? ', …' : '.'}`;
}
