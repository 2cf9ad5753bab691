import type { Clock } from '../../common/clock.js';
import { topic, type Line, type Topic } from './line.js';

/** A question to all workers, and what each of them says to it: `name` is theirs alone. */
export class RoundupTopics<Question, Answer> {
  /** A worker may be asked, from now on. */
  readonly open: Topic<null>;
  readonly question: Topic<{ readonly turn: number; readonly question: Question }>;
  readonly answer: Topic<{ readonly turn: number; readonly answer: Answer }>;

  constructor(name: string) {
    this.open = topic(`${name}-open`);
    this.question = topic(`${name}-question`);
    this.answer = topic(`${name}-answer`);
  }

  /** A worker's side. */
  serve(line: Line, answer: (question: Question) => Answer): void {
    line.on(this.question, ({ turn, question }) => line.post(this.answer, { turn, answer: answer(question) }));
    line.post(this.open, null);
  }
}

/** One question to all. */
interface Turn<Asked, Answer> {
  readonly awaited: Set<Asked>;
  readonly answers: Map<Asked, Answer>;
  readonly done: () => void;
}

/** The primary's side: asks all workers that are there, and takes what comes in time. */
export class Roundup<Asked extends { readonly line: Line }, Question, Answer> {
  readonly #open = new Set<Asked>();
  readonly #turns = new Map<number, Turn<Asked, Answer>>();
  #turn = 0;

  constructor(
    private readonly topics: RoundupTopics<Question, Answer>,
    private readonly clock: Clock,
    private readonly patienceMs: number,
  ) {}

  /** Those that may be asked. */
  get present(): ReadonlySet<Asked> {
    return this.#open;
  }

  join(worker: Asked): void {
    worker.line.on(this.topics.open, () => void this.#open.add(worker));
    worker.line.on(this.topics.answer, ({ turn, answer }) => {
      this.#turns.get(turn)?.answers.set(worker, answer);
      this.#heard(worker, turn);
    });
  }

  leave(worker: Asked): void {
    this.#open.delete(worker);
    for (const turn of this.#turns.keys()) this.#heard(worker, turn);
  }

  /** Settles when all have answered or gone, or have taken too long. */
  async ask(question: Question): Promise<ReadonlyMap<Asked, Answer>> {
    const turn = (this.#turn += 1);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const asked = { awaited: new Set(this.#open), answers: new Map<Asked, Answer>(), done: () => resolve(undefined) };
    if (asked.awaited.size === 0) return asked.answers;
    const timer = this.clock.after(this.patienceMs, asked.done);
    this.#turns.set(turn, asked);
    for (const { line } of asked.awaited) line.post(this.topics.question, { turn, question });
    await promise;
    timer.cancel();
    this.#turns.delete(turn);
    return asked.answers;
  }

  #heard(worker: Asked, turn: number): void {
    const asked = this.#turns.get(turn);
    if (asked?.awaited.delete(worker) === true && asked.awaited.size === 0) asked.done();
  }
}
