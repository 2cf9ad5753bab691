import { objectOr, shown, type JsonObject } from '../json.js';
import type { SseFrame } from '../sse-frames.js';
import { must, typedData, type StreamOutcome } from './must.js';

/** Which deltas fit which kind of block. */
const DELTAS: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  server_tool_use: ['input_json_delta'],
};

interface Progress {
  started: boolean;
  /** The block that is open now. */
  open: { readonly index: unknown; readonly type: string } | undefined;
  blocks: number;
  /** A `message_delta` with a stop reason has come. */
  stopped: boolean;
  /** The event that ended the stream. */
  ended: 'message_stop' | 'error' | undefined;
}

/** Throws BrokenStream at the first rule of the Messages stream that does not hold. */
export function checkAnthropicStream(frames: readonly SseFrame[], outcome: StreamOutcome): void {
  const progress: Progress = { started: false, open: undefined, blocks: 0, stopped: false, ended: undefined };
  for (const [position, frame] of frames.entries()) {
    const at = `frame ${String(position)}`;
    must(frame.data !== '[DONE]', `${at}: [DONE] in an Anthropic stream`);
    const data = typedData(frame, at);
    must(progress.ended === undefined, `${at}: ${shown(data['type'])} after ${String(progress.ended)}`);
    must(position === 0 || progress.started, `${at}: message_start was not first`);
    step(progress, data, at);
  }
  if (outcome === 'complete') must(progress.ended === 'message_stop', 'the stream did not end with message_stop');
  if (outcome === 'error') must(progress.ended === 'error', 'the stream did not end with an error event');
}

function step(progress: Progress, data: JsonObject, at: string): void {
  switch (data['type']) {
    case 'message_start':
      must(!progress.started, `${at}: a second message_start`);
      progress.started = true;
      return;
    case 'error':
      progress.ended = 'error';
      return;
  }
  must(progress.started, `${at}: message_start is not first but ${shown(data['type'])}`);
  stepInMessage(progress, data, at);
}

function stepInMessage(progress: Progress, data: JsonObject, at: string): void {
  switch (data['type']) {
    case 'content_block_start':
      return openBlock(progress, data, at);
    case 'content_block_delta':
      return checkDelta(progress, data, at);
    case 'content_block_stop':
      must(progress.open?.index === data['index'], `${at}: stop of block ${shown(data['index'])}, which is not open`);
      progress.open = undefined;
      return;
    case 'message_delta':
      return checkMessageDelta(progress, data, at);
    case 'message_stop':
      must(progress.open === undefined, `${at}: message_stop while a block is open`);
      must(progress.stopped, `${at}: message_stop without a message_delta before it`);
      progress.ended = 'message_stop';
      return;
    default:
  }
}

function openBlock(progress: Progress, data: JsonObject, at: string): void {
  must(progress.open === undefined, `${at}: a block starts while another is open`);
  must(!progress.stopped, `${at}: a block after message_delta`);
  must(data['index'] === progress.blocks, `${at}: block ${shown(data['index'])}, expected ${String(progress.blocks)}`);
  progress.open = { index: data['index'], type: String(objectOr(data['content_block'])['type']) };
  progress.blocks += 1;
}

function checkDelta({ open }: Progress, data: JsonObject, at: string): void {
  must(
    open !== undefined && open.index === data['index'],
    `${at}: a delta for block ${shown(data['index'])}, which is not open`,
  );
  const type = objectOr(data['delta'])['type'];
  must((DELTAS[open.type] ?? []).includes(String(type)), `${at}: a ${shown(type)} in a ${open.type} block`);
}

function checkMessageDelta(progress: Progress, data: JsonObject, at: string): void {
  must(progress.open === undefined, `${at}: message_delta while a block is open`);
  must(!progress.stopped, `${at}: a second message_delta`);
  must(typeof objectOr(data['delta'])['stop_reason'] === 'string', `${at}: message_delta without a stop_reason`);
  must(
    typeof objectOr(data['usage'])['output_tokens'] === 'number',
    `${at}: message_delta without usage.output_tokens`,
  );
  progress.stopped = true;
}
