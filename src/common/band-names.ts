/** The priority classes by name, highest first, and the one that callers have who ask for none. */
export class BandNames {
  constructor(
    readonly all: readonly string[],
    readonly defaultBand: string,
  ) {}
}
