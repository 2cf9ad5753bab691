import { samplePage } from '../../../../test/engines/sample-page.js';
import { GaugePage } from './gauge-page.js';
import type { GaugeTable } from './gauge-table.js';
import { LLAMACPP_GAUGES } from './gauges-llamacpp.js';
import { VLLM_GAUGES } from './gauges-vllm.js';
import { LivenessPage } from './liveness-page.js';
import type { PageHead, PageReader, PageVerdict } from './page-reader.js';

const headOf = (
  contentType = 'text/plain; version=0.0.4',
  status = 200,
  headers: Record<string, string> = {},
): PageHead => ({
  status,
  contentType,
  header: (name) => headers[name],
});

function judge(page: string | Buffer, head = headOf(), table: GaugeTable = VLLM_GAUGES): PageVerdict {
  return finish(new GaugePage(table, []), page, head);
}

function finish(reader: PageReader, page: string | Buffer, head: PageHead): PageVerdict {
  reader.push(Buffer.from(page));
  return reader.finish(head);
}

const faultOf = (verdict: PageVerdict): string => (verdict.ok ? 'none' : verdict.fault);
const WHOLE = 'vllm:num_requests_running 1\nvllm:num_requests_waiting 0\nvllm:kv_cache_usage_perc 0.5\n';

describe('gauge-page', () => {
  it('finds nothing missing on a whole page', () => {
    expect(judge(WHOLE)).toMatchObject({
      ok: true,
      gaps: [],
      reading: { gauges: { running: 1, waiting: 0, kvUsage: 0.5 } },
    });
  });

  it('goes by a page with a few broken lines, and tells of them', () => {
    expect(judge(samplePage('hostile-crlf.prom'))).toMatchObject({
      ok: true,
      gaps: ['kvUsage'],
      skipped: { bad_line: 1, duplicate_series: 1, not_finite: 3 },
      reading: { gauges: { running: 3, waiting: 2 } },
    });
  });

  it.each([
    ['an empty page', '', 'missing_family'],
    ['another engine', samplePage('tgi.prom'), 'missing_family'],
    ['a page without its queue', WHOLE.replace('waiting', 'pausing'), 'missing_family'],
    ['a name that only begins like the wanted one', WHOLE.replace('waiting', 'waiting_by_reason'), 'missing_family'],
    ['a queue of NaN', WHOLE.replace('waiting 0', 'waiting NaN'), 'not_finite'],
    ['a queue below 0', WHOLE.replace('waiting 0', 'waiting -1'), 'not_finite'],
    ['a page of rubbish', WHOLE + '<<<\n'.repeat(4), 'bad_line'],
    ['a line without end', WHOLE + 'x'.repeat(70_000), 'oversize'],
  ])('fails at %s', (_what, page, fault) => {
    expect(faultOf(judge(page))).toBe(fault);
  });

  it('tolerates one broken line in twenty, and not more', () => {
    const good = 'x 1\n'.repeat(200);
    expect(faultOf(judge(WHOLE + good + '<\n'.repeat(10)))).toBe('none');
    expect(faultOf(judge(WHOLE + good + '<\n'.repeat(11)))).toBe('bad_line');
  });

  it('counts a failure once, whatever the lines were', () => {
    const verdict = judge(WHOLE + '<<<\n'.repeat(4));
    expect(verdict).toMatchObject({ ok: false, fault: 'bad_line', skipped: { bad_line: 0 } });
  });

  it('demands the end mark of OpenMetrics alone', () => {
    const openMetrics = headOf('application/openmetrics-text; version=1.0.0');
    expect(faultOf(judge(WHOLE, openMetrics))).toBe('bad_content');
    expect(faultOf(judge(`${WHOLE}# EOF\n`, openMetrics))).toBe('none');
  });

  it('takes the start of llama.cpp from its header', () => {
    const head = headOf('text/plain', 200, { 'process-start-time-unix': '2089114545' });
    expect(judge(samplePage('llamacpp-v0.4.0.prom'), head, LLAMACPP_GAUGES)).toMatchObject({
      reading: { bootMark: '2089114545' },
    });
  });
});

describe('liveness-page', () => {
  it.each([
    ['a list of models', 200, '{"models":[]}', 'none'],
    ['a version', 200, '{"version":"0.9.0"}', 'none'],
    ['no such page', 404, '404 page not found', 'none'],
    ['no JSON', 200, 'pong', 'bad_content'],
    ['half of it', 200, '{"models":[', 'bad_content'],
    ['a list', 200, '[]', 'bad_content'],
    ['more than a list of models', 200, `{"models":"${'x'.repeat(300_000)}"}`, 'oversize'],
  ])('takes %s for %j', (_what, status, body, fault) => {
    expect(faultOf(finish(new LivenessPage(), body, headOf('application/json', status)))).toBe(fault);
  });

  it('learns nothing but life', () => {
    expect(finish(new LivenessPage(), '{"models":[]}', headOf('application/json'))).toMatchObject({
      reading: { gauges: {} },
      gaps: [],
    });
  });
});
