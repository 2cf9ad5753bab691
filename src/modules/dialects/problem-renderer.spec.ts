import { randomUUID } from 'node:crypto';
import { GatewayProblem } from '../../common/problem/gateway-problem.js';
import { ProblemRenderer } from './problem-renderer.js';

const OPTIONS = {
  detail: 'Say "please" – twice.',
  extensions: { band: 'bronze', waiting: 4 },
  retryAfterSeconds: 3,
  headers: { allow: 'POST' },
};

describe('ProblemRenderer', () => {
  const renderer = new ProblemRenderer('https://problems.example/');
  const once = new GatewayProblem('queue-full', OPTIONS);
  const recurring = new GatewayProblem('queue-full', { ...OPTIONS, recurs: true });

  it.each([
    ['/v1/chat/completions', 'queue_full'],
    ['/llm/v1/messages', 'overloaded_error'],
    [undefined, 'queue_full'],
  ])('tells one that recurs word for word as one that does not: %s', (target, word) => {
    const ids = [randomUUID(), randomUUID().toUpperCase(), 'mine.1_2-3', randomUUID()];
    for (const id of ids) {
      const told = renderer.render(recurring, id, target);
      expect(told).toEqual(renderer.render(once, id, target));
      const text = Buffer.from(told.body).toString();
      expect([text.split(id).length - 1, text.includes(word)]).toEqual([2, true]);
    }
  });

  it('knows the dialects apart', () => {
    const bodies = ['/v1/x', '/llm/x', '/v1/x'].map((target) => renderer.render(recurring, 'same', target).body);
    expect(bodies[0]).toEqual(bodies[2]);
    expect(bodies[0]).not.toEqual(bodies[1]);
  });
});
