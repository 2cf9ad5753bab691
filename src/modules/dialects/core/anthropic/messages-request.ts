/** A Messages request as it is meant: what may be written in several ways is written in one. */
export interface MessagesRequest {
  readonly model: string;
  readonly stream: boolean;
  /** Tokens. undefined: only where tokens are counted, not made. */
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
  /** Sampling numbers under the names that both dialects share. */
  readonly sampling: Readonly<Record<string, number>>;
  readonly thinking: ThinkingMode;
  readonly effort: string | undefined;
  /** JSON text of the schema that the answer must follow. */
  readonly answerSchema: string | undefined;
}

/** How much of the model's reasoning the client wants to see; off: the engine is to do without. */
export type ThinkingMode = 'shown' | 'omitted' | 'off';

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
  /** JSON text. */
  readonly inputSchema: string;
  readonly strict: boolean | undefined;
}

export type ToolChoice = { readonly type: 'auto' | 'any' | 'none' } | { readonly type: 'tool'; readonly name: string };
