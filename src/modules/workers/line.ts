/** What may be said between a gateway's processes, and what is said with it. */
export interface Topic<Body> {
  readonly name: string;
  /** Never there: it ties the type to the name. */
  readonly body?: Body;
}

export const topic = <Body>(name: string): Topic<Body> => ({ name });

/** What goes over the wire: no other messages are looked at. */
interface Wrapped {
  readonly llmgw: string;
  readonly body: unknown;
}

/** One end of the wire between the primary and a worker. Both run the same program, so what comes is what was meant. */
export class Line {
  readonly #takers = new Map<string, (body: unknown) => void>();

  /** `send` drops what nobody can hear any more. */
  constructor(private readonly send: (message: object) => void) {}

  post<Body>({ name }: Topic<Body>, body: Body): void {
    this.send({ llmgw: name, body } satisfies Wrapped);
  }

  /** One taker a topic. */
  on<Body>({ name }: Topic<Body>, take: (body: Body) => void): void {
    this.#takers.set(name, take as (body: unknown) => void);
  }

  /** Hands over what has come. */
  take(message: unknown): void {
    if (typeof message !== 'object' || message === null || !('llmgw' in message)) return;
    const { llmgw, body } = message as Wrapped;
    this.#takers.get(llmgw)?.(body);
  }
}
