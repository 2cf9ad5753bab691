/** A request for one answer as it is meant, in no dialect: what may be written in several ways is written in one. */
export interface AnswerRequest {
  readonly model: string;
  readonly stream: boolean;
  /** Tokens. undefined: the engine's own limit. */
  readonly maxTokens: number | undefined;
  /** Texts that lead the conversation. */
  readonly system: readonly string[];
  /** In turn: no two of one role stand side by side. */
  readonly turns: readonly Turn[];
  /** The tools that the client runs itself. */
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | undefined;
  readonly parallelCalls: boolean;
  readonly stopSequences: readonly string[];
  /** Sampling numbers under the names that chat completions have for them. */
  readonly sampling: Readonly<Record<string, number>>;
  readonly thinking: ThinkingMode;
  /** How hard the model is to think, in a word of chat completions. */
  readonly effort: string | undefined;
  /** What form the answer must have. */
  readonly format: AnswerFormat | undefined;
  /** A last turn of the assistant is the beginning of the answer. */
  readonly continuesLast: boolean;
}

/** How much of the model's reasoning the client wants to see; off: the engine is to do without. */
export type ThinkingMode = 'shown' | 'omitted' | 'off';

export type AnswerFormat =
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      /** Has to be there in chat completions, and means nothing. */
      readonly name: string;
      readonly description: string | undefined;
      /** JSON text. */
      readonly schema: string;
      readonly strict: boolean | undefined;
    };

export type Turn = UserTurn | AssistantTurn;

export interface UserTurn {
  readonly role: 'user';
  readonly results: ToolResult[];
  readonly parts: Part[];
}

export interface AssistantTurn {
  readonly role: 'assistant';
  thinking: string;
  text: string;
  readonly calls: ToolCall[];
}

export type Part = { readonly type: 'text'; readonly text: string } | { readonly type: 'image'; readonly url: string };

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text, with the digits that its numbers were sent with. */
  readonly input: string;
}

export interface ToolResult {
  readonly callId: string;
  readonly parts: readonly Part[];
  readonly isError: boolean;
}

export interface Tool {
  readonly name: string;
  readonly description: string | undefined;
  /** JSON text. undefined: it takes nothing. */
  readonly inputSchema: string | undefined;
  readonly strict: boolean | undefined;
}

export type ToolChoice = { readonly type: 'auto' | 'any' | 'none' } | { readonly type: 'tool'; readonly name: string };
