import type { AssistantTurn, Turn, UserTurn } from './answer-request.js';

/** A conversation that is being read: neighbours of one role become one turn. */
export class Conversation {
  /** What the system says before anyone else. */
  readonly system: string[] = [];
  readonly turns: Turn[] = [];

  /** Only at the beginning does the system speak as itself; midway it is heard as a user. */
  systemSays(texts: readonly string[]): void {
    if (this.turns.length === 0) this.system.push(...texts);
    else this.userTurn().parts.push(...texts.map((text) => ({ type: 'text' as const, text })));
  }

  userTurn(): UserTurn {
    const last = this.turns.at(-1);
    if (last?.role === 'user') return last;
    const turn: UserTurn = { role: 'user', results: [], parts: [] };
    this.turns.push(turn);
    return turn;
  }

  assistantTurn(): AssistantTurn {
    const last = this.turns.at(-1);
    if (last?.role === 'assistant') return last;
    const turn: AssistantTurn = { role: 'assistant', thinking: '', text: '', calls: [] };
    this.turns.push(turn);
    return turn;
  }
}
