import type { Operation } from '../../../../common/canonical/canonical-request.js';
import type { EngineKind } from '../../../../common/config/upstreams.config.js';
import type { Member } from '../json-walk.js';
import type { MemberName } from '../member-names.js';
import { repairMessages, type MessageRepairs } from './repair-messages.js';
import type { ScannedRequest } from '../scan-request.js';
import { edit, type Edit, withoutMembers } from './splice-body.js';

/** What an engine does not digest and the gateway therefore rewrites. */
interface RequestRepairs extends MessageRepairs {
  /** `tools: []` is refused, where it means the same as no tools. */
  readonly emptyTools: boolean;
  /** `tool_choice` is refused where there are no tools to choose from. */
  readonly choiceWithoutTools: boolean;
  /** `max_completion_tokens` is not known, and so would not limit anything. */
  readonly completionTokens: boolean;
}

const NONE: RequestRepairs = {
  emptyTools: false,
  choiceWithoutTools: false,
  completionTokens: false,
  developer: false,
  nullContent: false,
  arguments: false,
};
const SELF_HOSTED: RequestRepairs = { ...NONE, emptyTools: true, developer: true, arguments: true };

const REPAIRS: Readonly<Record<EngineKind, RequestRepairs>> = {
  vllm: { ...SELF_HOSTED, choiceWithoutTools: true },
  sglang: SELF_HOSTED,
  llamacpp: SELF_HOSTED,
  ollama: { ...SELF_HOSTED, completionTokens: true, nullContent: true },
  tei: NONE,
  openai: { ...NONE, emptyTools: true },
  http: NONE,
};

/**
 * Edits that make a chat request digestible for the engine; none for one that is so already. They go together with those
 * of `forceModel` and `askForUsage` in one splice. A body without `messages` is left to the engine's refusal, so that no
 * edit ever takes the last member out.
 */
export function repairRequest(engine: EngineKind, operation: Operation, scan: ScannedRequest): Edit[] {
  if (operation !== 'chat' || scan.member('messages') === undefined) return [];
  const repairs = REPAIRS[engine];
  const limits = repairs.completionTokens ? limitRepair(scan) : NO_REPAIR;
  const superfluous = [...limits.superfluous, ...toolMembers(repairs, scan)];
  return [
    ...limits.edits,
    ...(superfluous.length === 0 ? [] : withoutMembers(scan.json, superfluous)),
    ...repairMessages(repairs, scan.json, scan.messagePlaces),
  ];
}

interface LimitRepair {
  readonly edits: readonly Edit[];
  readonly superfluous: readonly Member[];
}
const NO_REPAIR: LimitRepair = { edits: [], superfluous: [] };

/** The newer name counts before the older one, as in engines that know both, and takes its place. A null says nothing. */
function limitRepair(scan: ScannedRequest): LimitRepair {
  const newer = scan.member('max_completion_tokens');
  if (newer === undefined) return NO_REPAIR;
  if (scan.json.isNull(newer.valueStart)) return { edits: [], superfluous: [newer] };
  return { edits: [edit(newer.keyStart, newer.keyEnd, '"max_tokens"')], superfluous: present(scan, ['max_tokens']) };
}

function toolMembers(repairs: RequestRepairs, scan: ScannedRequest): readonly Member[] {
  if (repairs.emptyTools && scan.toolsEmpty) return present(scan, ['tools', 'tool_choice', 'parallel_tool_calls']);
  if (!repairs.choiceWithoutTools || isSaid(scan, 'tools') || !isSaid(scan, 'tool_choice')) return [];
  return present(scan, ['tool_choice']);
}

const present = (scan: ScannedRequest, names: readonly MemberName[]): readonly Member[] =>
  names.map((name) => scan.member(name)).filter((member) => member !== undefined);

function isSaid(scan: ScannedRequest, name: MemberName): boolean {
  const member = scan.member(name);
  return member !== undefined && !scan.json.isNull(member.valueStart);
}
