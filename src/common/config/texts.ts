import { Scalar } from './field.js';
import type { ScalarRule } from './rule.js';

/** A string that fits the pattern, and a further test for what a pattern cannot say. */
export const textLike = (
  pattern: RegExp,
  allowed: string,
  also: (text: string) => boolean = () => true,
): ScalarRule => ({
  kind: 'scalar',
  allowed,
  schema: { type: 'string', pattern: pattern.source },
  accepts: (raw) => typeof raw === 'string' && pattern.test(raw) && also(raw),
});

export const oneOf = (values: readonly string[]): ScalarRule => ({
  kind: 'scalar',
  allowed: values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`,
  schema: { enum: values },
  accepts: (raw) => typeof raw === 'string' && values.includes(raw),
});

export const anyText = textLike(/^(?=.*\S)\P{Cc}+$/u, 'a text that is not empty');

/** Names end up in metric labels and headers. */
export const name = textLike(/^[A-Za-z0-9][A-Za-z0-9._-]*$/u, 'a name of letters, digits, ".", "_" and "-"');

export const modelId = textLike(/^[^\s\p{Cc}]+$/u, 'a model id: a text without white space');

/** RFC 6749's scope-token: what a token's `scope` claim can hold between two spaces. */
export const scope = textLike(/^[!#-[\]-~]+$/u, 'a scope without white space, or "public"');

/** A path that a router cannot read as a pattern, and that no normalisation changes. */
export const cleanPath = textLike(
  /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/u,
  'an absolute path of segments of letters, digits, ".", "_", "~" and "-", without a slash at its end',
);

/** Fields that frame or route a message: no setting may make one of them cross, or carry a token. */
const FRAMING =
  'connection|content-length|expect|host|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade';

export const headerName = textLike(
  new RegExp(`^(?!(?:${FRAMING})$)[a-z0-9!#$%&'*+.^_\`|~-]+$`, 'u'),
  'the name of a header in lower case, and none that frames the message',
);

export const Text = (): PropertyDecorator => Scalar(anyText);

export const OneOf = (values: readonly string[]): PropertyDecorator => Scalar(oneOf(values));

export const Flag = (): PropertyDecorator =>
  Scalar({
    kind: 'scalar',
    allowed: 'true or false',
    schema: { type: 'boolean' },
    accepts: (raw) => typeof raw === 'boolean',
  });
