import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import { requireModel, unknownModel } from './request-model.js';
import { scanRequest } from './scan-request.js';

const VALID = ['ornith:35b', 'reasoning'];
const modelOf = (body: string): string => requireModel(scanRequest(Buffer.from(body)), VALID);
function refusal(body: string): GatewayProblem {
  try {
    modelOf(body);
  } catch (error) {
    if (error instanceof GatewayProblem) return error;
    throw error;
  }
  throw new Error('The model was accepted');
}

describe('requireModel', () => {
  it.each([
    ['{"model":"ornith:35b"}', 'ornith:35b'],
    ['{"m\\u006fdel":"nomic\\u002dai/x"}', 'nomic-ai/x'],
    ['{"model":"größe 3"}', 'größe 3'],
    [`{"model":"${'m'.repeat(256)}"}`, 'm'.repeat(256)],
    ['{"model":"__proto__"}', '__proto__'],
  ])('reads the model of %.40s', (body, model) => expect(modelOf(body)).toBe(model));

  it.each([
    '{}',
    '{"Model":"reasoning"}',
    '{"x":{"model":"reasoning"}}',
    '{"model":null}',
    '{"model":7}',
    '{"model":["a"]}',
  ])('misses the model of %s', (body) => {
    expect(refusal(body)).toMatchObject({ code: 'missing-model', status: 400 });
    expect(refusal(body).options).toMatchObject({ param: 'model', extensions: { valid_models: VALID } });
  });

  it.each([
    ['""', 'is empty'],
    ['" \\t"', 'is empty'],
    ['" reasoning"', 'begins or ends with white space'],
    ['"reasoning\\n"', 'holds control characters'],
    ['"reas\\u0000oning"', 'holds control characters'],
    ['"\u007f"', 'holds control characters'],
    ['"\\ud800"', 'half of a surrogate pair'],
    [`"${'m'.repeat(257)}"`, 'longer than 256 bytes'],
    [`"${'é'.repeat(129)}"`, 'longer than 256 bytes'],
    [`"${'\\u0061'.repeat(300)}"`, 'longer than 256 bytes'],
    [`"${'m'.repeat(1_000_000)}"`, 'longer than 256 bytes'],
  ])('refuses %.30j before anyone looks it up', (value, fault) => {
    const problem = refusal(`{"model":${value}}`);
    expect(problem).toMatchObject({ code: 'unknown-model', status: 400 });
    expect(problem.options.extensions).toEqual({ valid_models: VALID });
    expect(problem.message).toContain(fault);
    expect(problem.message.length).toBeLessThan(160);
  });
});

describe('unknownModel', () => {
  it('quotes the name, cut to what a reader needs', () => {
    expect(unknownModel('gpt "x"', VALID).message).toBe(
      'The model "gpt \\"x\\"" is not served here. Served here: "ornith:35b", "reasoning".',
    );
    expect(unknownModel('m'.repeat(200), VALID).message).toBe(
      `The model "${'m'.repeat(63)}…" is not served here. Served here: "ornith:35b", "reasoning".`,
    );
  });

  it('keeps words out by which clients decide on a retry', () => {
    expect(unknownModel('rate-limit-quota', VALID).message).toBe(
      'The model is not served here. Served here: "ornith:35b", "reasoning".',
    );
  });
});
