import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { isRecord, type Section } from '../../../common/config/rule.js';
import type { Finding } from './finding.js';
import { shapeFindings } from './shape.js';
import { sketchOf, type Sketch } from './sketch.js';
import { valueFindings } from './value-findings.js';

export interface Bound<T extends object> {
  /** Complete only if there are no findings. */
  readonly instance: T;
  /** The same without everything that has a finding; undefined members are not to be judged again. */
  readonly sketch: Sketch<T>;
  readonly findings: readonly Finding[];
}

/**
 * Makes data an instance of its class, and finds all that is wrong with it by itself. `voided`: paths whose value could
 * not be read, which is a fault already.
 */
export function bind<T extends object>(section: Section<T>, data: unknown, voided: ReadonlySet<string>): Bound<T> {
  const plain = isRecord(data) ? data : {};
  const instance = plainToInstance(section, plain, { excludeExtraneousValues: true, exposeUnsetFields: false });
  const shape = shapeFindings(section, data).filter((finding) => finding.onKey === true || !voided.has(finding.path));
  const judged = new Set([...voided, ...shape.map((finding) => finding.path)]);
  const errors = validateSync(instance, { forbidUnknownValues: false });
  const values = valueFindings(section, plain, errors).filter((finding) => !judged.has(finding.path));
  const findings = [...shape, ...values];
  const wrong = new Set([...judged, ...values.map((finding) => finding.path)]);
  return { instance, sketch: sketchOf(section, instance, wrong), findings };
}
