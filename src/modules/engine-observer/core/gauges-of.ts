import type { EngineKind } from '../../../common/config/upstreams.config.js';
import type { GaugeTable } from './gauge-table.js';
import { LLAMACPP_GAUGES } from './gauges-llamacpp.js';
import { SGLANG_GAUGES } from './gauges-sglang.js';
import { TEI_GAUGES } from './gauges-tei.js';
import { VLLM_GAUGES } from './gauges-vllm.js';

/**
 * What can be learned from a kind of engine. liveness: only that it answers (Ollama, at `/api/ps` or `/api/version`);
 * nothing: it is not asked.
 */
export function gaugesOf(kind: EngineKind): GaugeTable | 'liveness' | 'nothing' {
  switch (kind) {
    case 'vllm':
      return VLLM_GAUGES;
    case 'sglang':
      return SGLANG_GAUGES;
    case 'llamacpp':
      return LLAMACPP_GAUGES;
    case 'tei':
      return TEI_GAUGES;
    case 'ollama':
      return 'liveness';
    case 'openai':
    case 'http':
      return 'nothing';
  }
}
