import { samplePage } from '../../../../test/engines/sample-page.js';
import type { EngineGauges } from './engine-snapshot.js';
import { familiesOf, type GaugeTable } from './gauge-table.js';
import { LLAMACPP_GAUGES } from './gauges-llamacpp.js';
import { SGLANG_GAUGES } from './gauges-sglang.js';
import { TEI_GAUGES } from './gauges-tei.js';
import { VLLM_GAUGES } from './gauges-vllm.js';
import { MetricsParser } from './parse-metrics.js';
import { readingFromSamples, type SampledReading } from './snapshot-from-samples.js';

function read(table: GaugeTable, page: string | Buffer, servedNames: readonly string[] = []): SampledReading {
  const parser = new MetricsParser(familiesOf(table));
  parser.push(page);
  return readingFromSamples(table, parser.finish().samples, servedNames);
}

const UNKNOWN = undefined;
type Row = [string, GaugeTable, ...(number | undefined)[]];

describe('snapshot-from-samples: the samples', () => {
  it.each<Row>([
    ['vllm-v1', VLLM_GAUGES, 2, 3, 0.2868, 152_432],
    ['vllm-v0', VLLM_GAUGES, 4, 1, 0.6412, 152_432],
    ['vllm-v1-dp2', VLLM_GAUGES, 5, 2, 0.9134, 152_432],
    ['vllm-v1-pid-series', VLLM_GAUGES, 4, 0, 0.6531, UNKNOWN],
    ['sglang', SGLANG_GAUGES, 5, 2, 0.28, 152_432],
    ['llamacpp', LLAMACPP_GAUGES, 4, 6, UNKNOWN, UNKNOWN],
    ['llamacpp-v0.4.0', LLAMACPP_GAUGES, 0, 0, UNKNOWN, UNKNOWN],
    ['llamacpp-v0.4.0-under-load', LLAMACPP_GAUGES, 2, 2, UNKNOWN, UNKNOWN],
    ['tei', TEI_GAUGES, UNKNOWN, 12, UNKNOWN, UNKNOWN],
    ['hostile-crlf', VLLM_GAUGES, 3, 2, UNKNOWN, UNKNOWN],
  ])('%s', (name, table, ...expected) => {
    const { gauges, missing, unreadable } = read(table, samplePage(`${name}.prom`));
    const { running, waiting, kvUsage, kvCapacityTokens } = gauges;
    expect([running, waiting, kvUsage, kvCapacityTokens]).toEqual(expected);
    expect([...missing, ...unreadable]).toEqual([]);
  });

  it('takes the counters and the start of vLLM', () => {
    const { gauges, bootMark } = read(VLLM_GAUGES, samplePage('vllm-v1.prom'));
    expect(gauges).toEqual({
      running: 2,
      waiting: 3,
      waitingCapacity: 3,
      kvUsage: 0.2868,
      kvUsageMean: 0.2868,
      kvCapacityTokens: 152_432,
      schedulers: 1,
      preemptions: 6,
      promptTokens: 41_918_412,
      cachedTokens: 23_178_000,
      prefixQueries: 41_983_412,
      prefixHits: 23_178_000,
      generationTokens: 3_914_455,
    });
    expect(bootMark).toBe('1763902080');
  });

  it('takes the counters of a recorded llama.cpp', () => {
    expect(read(LLAMACPP_GAUGES, samplePage('llamacpp-v0.4.0-under-load.prom')).gauges).toMatchObject({
      promptTokens: 74,
      cachedTokens: 27,
      generationTokens: 534,
    });
  });

  it('tells the mean beside the highest share, and how many schedulers there are', () => {
    const { gauges } = read(VLLM_GAUGES, samplePage('vllm-v1-dp2.prom'));
    expect(gauges.kvUsageMean).toBeCloseTo(0.50025);
    expect(gauges.schedulers).toBe(2);
  });
});

const RUNNING = 'vllm:num_requests_running';
const WAITING = 'vllm:num_requests_waiting';
const vllm = (page: string, servedNames?: readonly string[]): EngineGauges =>
  read(VLLM_GAUGES, page, servedNames).gauges;

describe('snapshot-from-samples: what is not known', () => {
  it('is left out, and is not 0', () => {
    expect(vllm('')).toEqual({});
    expect(Object.keys(vllm(`${RUNNING} 0\n`)).sort()).toEqual(['running', 'schedulers']);
  });

  it('names the required gauges that are missing, and those that cannot be read', () => {
    const { missing, unreadable, unusableSamples } = read(VLLM_GAUGES, `${RUNNING} NaN\n`);
    expect({ missing, unreadable, unusableSamples }).toEqual({
      missing: [WAITING],
      unreadable: [RUNNING],
      unusableSamples: 1,
    });
  });

  it.each(['NaN', '+Inf', '-Inf', '-1'])('knows no sum where one scheduler says %s', (value) => {
    expect(vllm(`${RUNNING}{engine="0"} 4\n${RUNNING}{engine="1"} ${value}\n`).running).toBeUndefined();
  });

  it('knows the share of the schedulers that say it', () => {
    const page = 'vllm:kv_cache_usage_perc{engine="0"} NaN\nvllm:kv_cache_usage_perc{engine="1"} 0.4\n';
    expect(vllm(page).kvUsage).toBe(0.4);
  });

  it('knows no size where the labels hold none', () => {
    const page = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1\n';
    expect(vllm(page).kvCapacityTokens).toBeUndefined();
  });
});

describe('snapshot-from-samples: several series', () => {
  it('holds a share above 1 for 1, and counts it', () => {
    const { gauges, unusableSamples } = read(VLLM_GAUGES, 'vllm:kv_cache_usage_perc 1.02\n');
    expect([gauges.kvUsage, unusableSamples]).toEqual([1, 1]);
  });

  it('takes the new name of a gauge before the old one, and the old one where the new says nothing', () => {
    expect(vllm('vllm:gpu_cache_usage_perc 0.1\nvllm:kv_cache_usage_perc 0.2\n').kvUsage).toBe(0.2);
    expect(vllm('vllm:gpu_cache_usage_perc 0.1\nvllm:kv_cache_usage_perc NaN\n').kvUsage).toBe(0.1);
  });

  it('takes only what waits for capacity, where the engine tells it apart', () => {
    const reason = (name: string, value: number) => `${WAITING}_by_reason{reason="${name}"} ${value}\n`;
    expect(vllm(`${WAITING} 5\n${reason('deferred', 4)}${reason('capacity', 1)}`)).toMatchObject({
      waiting: 5,
      waitingCapacity: 1,
    });
    expect(vllm(`${WAITING} 5\n`).waitingCapacity).toBe(5);
  });

  it('takes the smallest size where schedulers differ', () => {
    const info = (engine: number, blocks: number) =>
      `vllm:cache_config_info{engine="${engine}",block_size="16",num_gpu_blocks="${blocks}"} 1\n`;
    expect(vllm(info(0, 100) + info(1, 90)).kvCapacityTokens).toBe(1440);
  });

  it('counts requests once that several ranks of SGLang tell of, and adds up data-parallel ranks', () => {
    const rank = (dp: number, tp: number, value: number) =>
      `sglang:num_running_reqs{dp_rank="${dp}",tp_rank="${tp}"} ${value}\n`;
    const { gauges } = read(SGLANG_GAUGES, rank(0, 0, 3) + rank(0, 1, 3) + rank(1, 0, 2) + rank(1, 1, 2));
    expect(gauges.running).toBe(5);
  });

  it('adds up the queues of SGLang, and knows nothing where one of them is unreadable', () => {
    const queues = (grammar: string) => `sglang:num_queue_reqs 2\nsglang:num_grammar_queue_reqs ${grammar}\n`;
    expect(read(SGLANG_GAUGES, queues('3')).gauges.waiting).toBe(5);
    expect(read(SGLANG_GAUGES, queues('NaN')).gauges.waiting).toBeUndefined();
  });

  it('divides used tokens by all of them where SGLang has no share', () => {
    const page = 'sglang:num_used_tokens{dp_rank="0"} 50\nsglang:max_total_num_tokens{dp_rank="0"} 200\n';
    expect(read(SGLANG_GAUGES, page).gauges).toMatchObject({ kvUsage: 0.25, kvCapacityTokens: 200 });
  });

  it('multiplies pages where SGLang tells no size', () => {
    const page = 'sglang:cache_config_info{page_size="16",num_pages="10"} 1\n';
    expect(read(SGLANG_GAUGES, page).gauges.kvCapacityTokens).toBe(160);
  });

  it('counts only the served model, or every one where none has its name', () => {
    const page = `${RUNNING}{model_name="a"} 2\n${RUNNING}{model_name="b"} 3\n`;
    expect([vllm(page, ['a']).running, vllm(page, ['c']).running, vllm(page).running]).toEqual([2, 5, 5]);
  });
});
