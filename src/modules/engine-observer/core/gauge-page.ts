import { familiesOf, type GaugeTable } from './gauge-table.js';
import type { PageHead, PageReader, PageVerdict } from './page-reader.js';
import { MAX_LINE_BYTES, MAX_LINES, MetricsParser, type MetricsPage } from './parse-metrics.js';
import type { FaultCounts, ScrapeFault } from './scrape-fault.js';
import { readingFromSamples, type SampledReading } from './snapshot-from-samples.js';

/** A larger part of the lines than this must not be broken; on a short page, a few may be. */
const BAD_LINE_SHARE = 0.05;
const BAD_LINES_ALLOWED = 3;

/** Reads a metrics page, and says whether the gate may go by it. */
export class GaugePage implements PageReader {
  readonly statuses = [200];
  readonly #parser: MetricsParser;

  constructor(
    private readonly table: GaugeTable,
    private readonly servedNames: readonly string[],
  ) {
    this.#parser = new MetricsParser(familiesOf(table));
  }

  push(chunk: Uint8Array): boolean {
    return this.#parser.push(chunk);
  }

  finish(head: PageHead): PageVerdict {
    const page = this.#parser.finish();
    const reading = readingFromSamples(this.table, page.samples, this.servedNames);
    const skipped = { ...skippedOf(page), not_finite: reading.unusableSamples };
    const failure = pageFailure(page, head) ?? readingFailure(reading);
    if (failure !== undefined) return { ok: false, ...failure, skipped: withoutTwice(skipped, failure.fault) };
    const { gauges } = reading;
    const bootMark = this.#headerMark(head) ?? reading.bootMark;
    const gaps = this.table.expected.filter((name) => gauges[name] === undefined);
    return { ok: true, reading: { gauges, bootMark }, gaps, skipped };
  }

  #headerMark(head: PageHead): string | undefined {
    const { bootHeader } = this.table;
    return bootHeader === undefined ? undefined : head.header(bootHeader);
  }
}

interface Failure {
  readonly fault: ScrapeFault;
  readonly detail: string;
}

function pageFailure(page: MetricsPage, { contentType }: PageHead): Failure | undefined {
  if (page.oversize) {
    const limits = `${MAX_LINE_BYTES} bytes a line, ${MAX_LINES} lines`;
    return { fault: 'oversize', detail: `the page is larger than is read (${limits})` };
  }
  if (contentType.includes('openmetrics') && !page.ended) {
    return { fault: 'bad_content', detail: 'the page ends without its # EOF' };
  }
  if (page.badLines > Math.max(BAD_LINES_ALLOWED, page.lines * BAD_LINE_SHARE)) {
    return { fault: 'bad_line', detail: `${page.badLines} of ${page.lines} lines are broken` };
  }
  return undefined;
}

function readingFailure({ missing, unreadable }: SampledReading): Failure | undefined {
  if (missing.length > 0) return { fault: 'missing_family', detail: `the page lacks ${missing.join(', ')}` };
  if (unreadable.length > 0) {
    return { fault: 'not_finite', detail: `${unreadable.join(', ')} has a value that is no count` };
  }
  return undefined;
}

const skippedOf = ({ badLines, duplicates }: MetricsPage): Partial<FaultCounts> => ({
  bad_line: badLines,
  duplicate_series: duplicates,
});

/** A poll that failed because of its lines is counted once, not once more for each of them. */
const withoutTwice = (skipped: Partial<FaultCounts>, fault: ScrapeFault): Partial<FaultCounts> => ({
  ...skipped,
  [fault]: 0,
});
