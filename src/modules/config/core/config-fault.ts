/** Stands for a path where the file as a whole is at fault. */
export const WHOLE_FILE = '(file)';

/** Something wrong in the configuration file, where it stands, and what is allowed there. */
export class ConfigFault {
  constructor(
    readonly file: string,
    /** From 1 on, as editors count. */
    readonly line: number,
    readonly column: number,
    /** `admission.bands[0].ceiling` */
    readonly path: string,
    readonly message: string,
  ) {}

  toString(): string {
    return `${this.file}:${this.line}:${this.column} ${this.path}: ${this.message}`;
  }
}

/** The configuration cannot be used. Holds every fault, in the order of the file. */
export class ConfigFaults extends Error {
  constructor(readonly faults: readonly ConfigFault[]) {
    super(faults.join('\n'));
    this.name = 'ConfigFaults';
  }
}
