import { PROBLEMS, type ProblemCode, type ProblemKind } from './problems.js';

export interface ProblemOptions {
  /** What was wrong, where, and what is allowed; shown to the caller. */
  readonly detail: string;
  /** Members of the case: `valid_models`, `limit` … JSON values only. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** The field at fault, as the dialect writes it (`messages[0].content`). */
  readonly param?: string;
  /** Extra response headers of this answer (`Allow`, `WWW-Authenticate`), name and value. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whole seconds after which trying again makes sense. */
  readonly retryAfterSeconds?: number;
  /** false: trying again is in vain, though it is not for others of this kind. */
  readonly retryable?: false;
  /** Overrides the kind's status: only for an engine's own error that keeps it. */
  readonly status?: number;
  /** The connection is closed behind the answer, since what is left on it cannot be read on. */
  readonly closeConnection?: boolean;
  /** This very problem is told to many, one after the other: what is rendered of it is kept. */
  readonly recurs?: boolean;
  /** Logged, never rendered. */
  readonly cause?: unknown;
}

/** The only error thrown on purpose. Each dialect renders it in its own shape. */
export class GatewayProblem extends Error {
  readonly kind: ProblemKind;

  constructor(
    readonly code: ProblemCode,
    readonly options: ProblemOptions,
  ) {
    // Nobody reads where a problem was thrown, and finding that out takes 6 % of a refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(options.detail, options.cause === undefined ? undefined : { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.kind = PROBLEMS[code];
  }

  static {
    // One for all: to set it on each costs as much as to make the error.
    this.prototype.name = 'GatewayProblem';
  }

  get retryable(): boolean {
    return this.options.retryable ?? this.kind.retryable;
  }

  get status(): number {
    return this.options.status ?? this.kind.status;
  }
}

/** Any thrown value as a problem: what was not thrown on purpose is `internal`, and its text stays in the log. */
export function problemFrom(error: unknown): GatewayProblem {
  if (error instanceof GatewayProblem) return error;
  return new GatewayProblem('internal', {
    detail: 'The gateway failed to handle this request (server_error). The request id finds it in the log.',
    cause: error,
  });
}
