import { quoted } from './finding.js';

/** Where values come from: handed in, so that nothing below reads the process's own. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Substituted {
  readonly text: string;
  /** Variables whose values are in the text: it may hold a secret and is not shown. */
  readonly from: readonly string[];
  /** Why the text cannot be used. */
  readonly faults: readonly string[];
}

const VARIABLE = /\$\{([^}]*)(\}?)/gu;
const NAME_AND_DEFAULT = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/u;

/** Puts values in the place of `${NAME}` and `${NAME:-default}`. As in a shell, the default also serves for an empty value. */
export function substitute(text: string, env: Environment): Substituted {
  const from: string[] = [];
  const faults: string[] = [];
  const replaced = text.replace(VARIABLE, (whole: string, inside: string, end: string) => {
    const [, name, fallback] = end === '' ? [] : (NAME_AND_DEFAULT.exec(inside) ?? []);
    if (name === undefined) {
      faults.push(`${quoted(whole)} is not \${NAME} or \${NAME:-default}`);
      return '';
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value !== undefined && (value !== '' || fallback === undefined)) {
      from.push(name);
      return value;
    }
    if (fallback === undefined) faults.push(`the variable ${name} is not set, and \${${name}} has no default`);
    return fallback ?? '';
  });
  return { text: replaced, from, faults };
}
