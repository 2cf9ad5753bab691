import { bind } from './core/bind.js';
import { ConfigFault, ConfigFaults, WHOLE_FILE } from './core/config-fault.js';
import { crossFindings, crossWarnings } from './core/cross-checks.js';
import { textOfFile } from './core/file-text.js';
import { ROOT, type Finding } from './core/finding.js';
import type { Environment } from './core/substitute.js';
import { YamlSource, type Place } from './core/yaml-source.js';
import { GatewayConfig } from './gateway.config.js';

export { ConfigFault, ConfigFaults } from './core/config-fault.js';
export type { Environment } from './core/substitute.js';

/** What a configuration was made of: the same once more makes the same one. */
export interface ConfigSource {
  readonly text: string;
  readonly file: string;
  readonly env: Environment;
}

export interface LoadedConfig {
  readonly config: GatewayConfig;
  readonly source: ConfigSource;
  /** What works but is probably not meant, each with its place like a fault. */
  readonly warnings: string[];
}

/** Reads the configuration. Throws ConfigFaults, with every fault at once. */
export const loadConfig = (file: string, env: Environment): LoadedConfig => parseConfig(textOfFile(file), file, env);

/** The same from a text; `file` is only its name in faults. */
export function parseConfig(text: string, file: string, env: Environment): LoadedConfig {
  const source = new YamlSource(text, env);
  const say = (finding: Finding): ConfigFault => faultOf(finding, source, file);
  const unread = source.faults.map((fault) => faultOf(fault, source, file, fault.place));
  if (source.unreadable) throw new ConfigFaults(inOrder(unread));
  if (source.data === null) throw new ConfigFaults(unread.length > 0 ? unread : [say(EMPTY)]);
  const voided = new Set(source.faults.filter((fault) => fault.voids).map((fault) => fault.path));
  const { instance, sketch, findings } = bind(GatewayConfig, source.data, voided);
  const faults = [...unread, ...[...findings, ...crossFindings(sketch)].map(say)];
  if (faults.length > 0) throw new ConfigFaults(inOrder(faults));
  const warnings = crossWarnings(sketch).map((warning) => say(warning).toString());
  return { config: instance, source: { text, file, env }, warnings };
}

const EMPTY: Finding = { path: ROOT, message: 'is empty: config/gateway.yaml shows every key there is' };
const START: Place = { line: 1, column: 1 };

function faultOf(finding: Finding, source: YamlSource, file: string, known?: Place): ConfigFault {
  const { path, at = path, onKey = false, quotes = false, message } = finding;
  const { line, column } = known ?? source.place(at, onKey) ?? START;
  const text = quotes ? `${source.shown(path)} ${message}` : message;
  return new ConfigFault(file, line, column, path === ROOT ? WHOLE_FILE : path, text);
}

const inOrder = (faults: readonly ConfigFault[]): readonly ConfigFault[] =>
  [...faults].sort((left, right) => left.line - right.line || left.column - right.column);
