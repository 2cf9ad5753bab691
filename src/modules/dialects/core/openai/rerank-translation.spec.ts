import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import { translateRerankRequest, type RerankTranslation } from './rerank-translation.js';
import { scanRequest } from '../scan-request.js';

const MODEL = 'BAAI/bge-reranker-base';
const translate = (body: object): RerankTranslation | undefined =>
  translateRerankRequest(scanRequest(Buffer.from(JSON.stringify({ model: MODEL, ...body }))), MODEL, 'rerank-1');
function translated(body: object): RerankTranslation {
  const translation = translate(body);
  if (translation === undefined) throw new Error('The request was not translated');
  return translation;
}
const sent = (body: object): unknown => JSON.parse(translated(body).body.toString());
const answered = (body: object, answer: unknown, tokens?: number): unknown =>
  JSON.parse(
    translated(body)
      .restore(Buffer.from(JSON.stringify(answer)), tokens)
      .toString(),
  );
function refusal(run: () => unknown): { code: string; param: string | undefined } {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayProblem) return { code: error.code, param: error.options.param };
    throw error;
  }
  throw new Error('Nothing was refused');
}

describe('translateRerankRequest', () => {
  it('turns documents of both kinds into texts', () => {
    expect(sent({ query: 'what floats', documents: ['a stone', { text: 'a cork', title: 'x' }], top_n: 1 })).toEqual({
      model: MODEL,
      query: 'what floats',
      texts: ['a stone', 'a cork'],
    });
  });

  it("keeps the members that are TEI's own, and asks for texts where documents are wanted", () => {
    const own = { raw_scores: true, truncate: true, truncation_direction: 'left' };
    const request = { query: 'q', documents: ['d'], return_documents: true, user: 'u', ...own };
    expect(sent(request)).toEqual({ model: MODEL, query: 'q', texts: ['d'], return_text: true, ...own });
    expect(sent({ query: 'q', documents: ['d'], return_documents: false, truncate: null })).toEqual({
      model: MODEL,
      query: 'q',
      texts: ['d'],
    });
  });

  it("lets a request in TEI's own words pass", () => {
    expect(translate({ query: 'q', texts: ['a'] })).toBeUndefined();
    expect(translate({ texts: 7 })).toBeUndefined();
    expect(translate({ query: 'q', texts: null, documents: ['a'] })).toBeDefined();
  });

  it.each([
    [{ documents: ['a'] }, 'query'],
    [{ query: ['q'], documents: ['a'] }, 'query'],
    [{ query: 'q' }, 'documents'],
    [{ query: 'q', documents: [] }, 'documents'],
    [{ query: 'q', documents: 'a' }, 'documents'],
    [{ query: 'q', documents: ['a', 7] }, 'documents[1]'],
    [{ query: 'q', documents: ['a', null] }, 'documents[1]'],
    [{ query: 'q', documents: [{ text: 1 }] }, 'documents[0].text'],
    [{ query: 'q', documents: [{}] }, 'documents[0].text'],
    [{ query: 'q', documents: ['a'], top_n: -1 }, 'top_n'],
    [{ query: 'q', documents: ['a'], top_n: '2' }, 'top_n'],
    [{ query: 'q', documents: ['a'], return_documents: 'yes' }, 'return_documents'],
  ])('refuses %j, naming the field', (body, param) => {
    expect(refusal(() => translate(body))).toEqual({ code: 'invalid-request', param });
  });
});

describe('the way back', () => {
  const request = { query: 'what floats', documents: ['a stone', 'a cork', 'an anchor'] };

  it('sorts by score and cuts to top_n', () => {
    const scores = [
      { index: 0, score: 0.07 },
      { index: 2, score: 0.01 },
      { index: 1, score: 0.91 },
    ];
    expect(answered({ ...request, top_n: 2 }, scores)).toEqual({
      id: 'rerank-1',
      model: MODEL,
      results: [
        { index: 1, relevance_score: 0.91 },
        { index: 0, relevance_score: 0.07 },
      ],
    });
  });

  it.each([undefined, null, 0, 99])('gives all results for a top_n of %s', (topN) => {
    const scores = [
      { index: 0, score: 1 },
      { index: 1, score: -2 },
      { index: 2, score: 0 },
    ];
    expect(answered({ ...request, top_n: topN }, scores)).toMatchObject({
      results: [{ index: 0 }, { index: 2 }, { index: 1 }],
    });
  });

  it('hands documents and the count of tokens on', () => {
    expect(answered(request, [{ index: 1, score: 1, text: 'a cork' }], 21)).toEqual({
      id: 'rerank-1',
      model: MODEL,
      usage: { total_tokens: 21 },
      results: [{ index: 1, relevance_score: 1, document: { text: 'a cork' } }],
    });
  });

  it.each([
    { error: 'x' },
    [7],
    [{ index: 3, score: 1 }],
    [{ index: -1, score: 1 }],
    [{ index: 0, score: 'high' }],
    'text',
  ])('takes %j for no answer', (answer) =>
    expect(refusal(() => answered(request, answer)).code).toBe('upstream-invalid'),
  );

  it('takes what is not JSON for no answer', () => {
    expect(refusal(() => translated(request).restore(Buffer.from('<html>'))).code).toBe('upstream-invalid');
  });
});
