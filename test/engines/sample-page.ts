import { readdirSync, readFileSync } from 'node:fs';

const FOLDER = new URL('samples/', import.meta.url);

/** The metrics pages there are, by file name: composed ones, and those that were taken from an engine. */
export const samplePages = (): readonly string[] => readdirSync(FOLDER).filter((name) => name.endsWith('.prom'));

/** One page's bytes. */
export const samplePage = (name: string): Buffer => readFileSync(new URL(name, FOLDER));

/** A whole answer as it came over the wire: the recording begins with two lines that tell how, and lost its CRs. */
export function sampleAnswer(name: string): string {
  const recorded = samplePage(name).toString();
  const body = recorded.indexOf('\n\n') + 2;
  return recorded.slice(recorded.indexOf('HTTP/1.1'), body).replaceAll('\n', '\r\n') + recorded.slice(body);
}
