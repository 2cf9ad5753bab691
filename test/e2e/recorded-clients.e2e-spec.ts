import { readdirSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { foldStream } from '../support/fold-stream.js';
import { isObject, listOr, objectOr, type JsonObject } from '../support/json.js';
import { sendRaw, type RawResponse } from '../support/raw-client.js';
import { jsonOf, ScriptedEngine, type EngineRequest, type EngineScript } from '../support/scripted-engine.js';
import { SseFrameReader } from '../support/sse-frames.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';
import { brokenInvariant } from '../support/stream-invariants.js';
import { official } from '../support/rendered-responses.js';
import { askedForUsage, chatAnswer, chatStream, embeddingsAnswer } from './engine-answers.js';

/** What a real client sent, as it was recorded on the wire. */
interface Recording {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject | null;
}

/** The routes of the OpenAI dialect that are served: recordings of other ones are no tests yet. */
const SERVED_PATHS = /^\/v1\/(chat\/completions|completions|embeddings|rerank|models(\/.*)?)$/;
/** Those of the Messages dialect. */
const MESSAGES_PATHS = /^\/llm\/v1\/(messages|messages\/count_tokens|models)$/;

/** That of the Responses dialect. */
const RESPONSES_PATHS = /^\/v1\/responses$/;

const FOLDER = new URL('../clients/requests/', import.meta.url);

function loadRecordings(served: RegExp): Recording[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  return names
    .sort()
    .map((name) => {
      const { request } = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as {
        request: Omit<Recording, 'name'>;
      };
      return { ...request, name: name.replace('.json', '') };
    })
    .filter(({ path }) => served.test(path.replace(/\?.*/, '')));
}

const recordings = loadRecordings(SERVED_PATHS);
const messagesRecordings = loadRecordings(MESSAGES_PATHS);
const responsesRecordings = loadRecordings(RESPONSES_PATHS);
/** Headers that are between the caller and the gateway. */
const PRIVATE = /^(authorization|proxy-authorization|cookie|x-api-key|x-stainless-.*)$/;
const CHAT_MODEL = 'test-model';
const EMBED_MODEL = 'test-embed';

let engine: ScriptedEngine;
let gateway: RunningGateway;

beforeAll(async () => {
  engine = await ScriptedEngine.start();
  gateway = await startGateway({
    upstreams: [{ name: 'engine', url: engine.url, engine: 'vllm' }],
    models: [
      { id: CHAT_MODEL, upstream: 'engine', operations: ['chat', 'completions'] },
      { id: EMBED_MODEL, upstream: 'engine', operations: ['embeddings'] },
    ],
  });
}, 90_000);

afterAll(async () => {
  await gateway.stop();
  await engine.stop();
}, 30_000);

beforeEach(() => engine.play(answerLikeVllm));

describe('a request of a real client is served, and reaches the engine as it was sent', () => {
  const generating = recordings.filter(({ body }) => body !== null);

  it.each(generating.map((recording) => [recording.name, recording] as const))('%s', async (_, recording) => {
    const body = objectOr(recording.body);
    const response = await replay(recording);
    expect({ status: response.status, end: response.end, error: errorIn(response) }).toEqual({
      status: 200,
      end: 'clean',
    });
    expect(engine.requests).toHaveLength(1);
    const expected = expectedAtEngine(body);
    expect(jsonOf(engine.lastRequest)).toEqual(expected);
    // Where no edit is called for, not one byte changes.
    if (isDeepStrictEqual(expected, body)) expect(engine.lastRequest?.body.toString()).toBe(JSON.stringify(body));
    expectNothingPrivate(engine.lastRequest);
    if (body['stream'] === true) expectStreamFor(body, response);
  });

  it.each(recordings.filter(({ body }) => body === null).map((recording) => [recording.name, recording] as const))(
    '%s, which the gateway answers by itself',
    async (_, recording) => {
      const response = await replay(recording);
      expect(response.status).toBe(200);
      expect(response.json()).toMatchObject({ object: 'list', data: [{ id: CHAT_MODEL }, { id: EMBED_MODEL }] });
      expect(engine.requests).toHaveLength(0);
    },
  );

  it('covers chat, embeddings and the model list', () => {
    const paths = new Set(recordings.map(({ path }) => path));
    expect([...paths].sort()).toEqual(['/v1/chat/completions', '/v1/embeddings', '/v1/models']);
  });
});

describe('a request of a real client in the Messages dialect is served, in the words of chat completions', () => {
  const named = (pick: (recording: Recording) => boolean) =>
    messagesRecordings.filter(pick).map((recording) => [recording.name, recording] as const);
  const makes = ({ path, body }: Recording): boolean => /\/messages(\?|$)/.test(path) && body?.['thread'] === undefined;

  it.each(named(makes))('%s', async (_, recording) => {
    const body = objectOr(recording.body);
    const response = await replay(recording);
    expect([response.status, response.end]).toEqual([200, 'clean']);
    expect(engine.requests.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
    expectNothingPrivate(engine.lastRequest);
    expectTranslated(body, objectOr(jsonOf(engine.lastRequest)));
    const { content, usage } = body['stream'] === true ? foldedStream(response) : objectOr(response.json());
    expect(content).toEqual([{ type: 'text', text: 'Hello.' }]);
    expect(usage).toMatchObject({ input_tokens: 3, output_tokens: 2 });
  });

  it.each(named(({ body }) => body?.['thread'] !== undefined))(
    '%s, which is asked to go without a thread',
    async (_, recording) => {
      const response = await replay(recording);
      expect(response.status).toBe(400);
      expect(errorIn(response)).toMatchObject({ details: { error_code: 'thread_unsupported_request' } });
      expect(engine.requests).toHaveLength(0);
    },
  );

  it.each(named(({ path }) => path.includes('count_tokens')))(
    '%s, which is answered with a number',
    async (_, recording) => {
      const response = await replay(recording);
      expect([response.status, response.json()]).toEqual([200, { input_tokens: expect.any(Number) }]);
      expect(engine.requests).toHaveLength(0);
    },
  );

  it.each(named(({ body }) => body === null))('%s, which the gateway answers by itself', async (_, recording) => {
    const response = await replay(recording);
    expect([response.status, response.json()]).toMatchObject([
      200,
      { data: [{ type: 'model', id: CHAT_MODEL }], has_more: false },
    ]);
    expect(engine.requests).toHaveLength(0);
  });

  it('covers messages, counts, models and threads', () => {
    const paths = new Set(messagesRecordings.map(({ path }) => path.replace(/\?.*/, '')));
    expect([...paths].sort()).toEqual(['/llm/v1/messages', '/llm/v1/messages/count_tokens', '/llm/v1/models']);
    expect(messagesRecordings.filter(({ body }) => body?.['thread'] !== undefined)).toHaveLength(1);
    expect(messagesRecordings.filter(makes).length).toBeGreaterThan(20);
  });

  /** Every text, call, result and tool of the client is there, and no word that only its dialect has. */
  function expectTranslated(body: JsonObject, atEngine: JsonObject): void {
    const blocks = listOr(body['messages'])
      .flatMap((message) => listOr(objectOr(message)['content']))
      .map(objectOr);
    const messages = listOr(atEngine['messages']).map(objectOr);
    const idsOf = (type: string, name: string) =>
      blocks.filter((block) => block['type'] === type).map((block) => block[name]);
    const calls = messages.flatMap(({ tool_calls }) => listOr(tool_calls)).map((call) => objectOr(call)['id']);
    expect(calls).toEqual(idsOf('tool_use', 'id'));
    expect(messages.filter(({ role }) => role === 'tool').map(({ tool_call_id }) => tool_call_id)).toEqual(
      idsOf('tool_result', 'tool_use_id'),
    );
    const said = JSON.stringify(messages);
    for (const text of idsOf('text', 'text')) expect(said).toContain(JSON.stringify(text).slice(1, -1));
    expect(listOr(atEngine['tools'])).toHaveLength(listOr(body['tools']).length);
    expect(atEngine['max_tokens']).toBe(body['max_tokens']);
    expect(JSON.stringify(atEngine)).not.toMatch(
      /cache_control|input_schema|eager_input_streaming|"thinking"|"metadata"|tool_use_id/,
    );
  }

  function foldedStream(response: RawResponse): JsonObject {
    const frames = new SseFrameReader().push(response.body);
    expect(brokenInvariant('anthropic', frames, 'complete')).toBeUndefined();
    return foldStream('anthropic', frames);
  }
});

describe('a request of a real client in the Responses dialect is served, in the words of chat completions', () => {
  it.each(responsesRecordings.map((recording) => [recording.name, recording] as const))('%s', async (_, recording) => {
    const body = objectOr(recording.body);
    const response = await replay(recording);
    expect([response.status, response.end]).toEqual([200, 'clean']);
    expect(engine.requests.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
    expectNothingPrivate(engine.lastRequest);
    expectTranslated(body, objectOr(jsonOf(engine.lastRequest)));
    const answer = body['stream'] === true ? await accepted(response) : response.json();
    expect(answer).toMatchObject({
      object: 'response',
      status: 'completed',
      model: CHAT_MODEL,
      output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hello.' }] }],
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    });
  });

  it('covers codex, pi, LangChain, the agents SDK and the official client', () => {
    const names = responsesRecordings.map(({ name }) => name.replace(/--.*/, ''));
    expect([...new Set(names)]).toEqual(['codex', 'langchain', 'openai-agents', 'pi', 'sdk-openai']);
    expect(names).toHaveLength(9);
  });

  /** Every text, call, result and function of the client is there, and no word that only its dialect has. */
  function expectTranslated(body: JsonObject, atEngine: JsonObject): void {
    const items = listOr(body['input']).map(objectOr);
    const messages = listOr(atEngine['messages']).map(objectOr);
    const idsOf = (type: string) => items.filter((item) => item['type'] === type).map(({ call_id }) => call_id);
    const calls = messages.flatMap(({ tool_calls }) => listOr(tool_calls)).map((call) => objectOr(call)['id']);
    expect(calls).toEqual(idsOf('function_call'));
    expect(messages.filter(({ role }) => role === 'tool').map(({ tool_call_id }) => tool_call_id)).toEqual(
      idsOf('function_call_output'),
    );
    const said = JSON.stringify(messages);
    for (const text of textsIn(body)) expect(said).toContain(JSON.stringify(text).slice(1, -1));
    const functions = listOr(body['tools']).filter((tool) => objectOr(tool)['type'] === 'function');
    expect(listOr(atEngine['tools'])).toHaveLength(functions.length);
    expect(atEngine['max_tokens']).toBe(body['max_output_tokens']);
    expect(messages.slice(1).some(({ role }) => role === 'system')).toBe(false);
    expect(JSON.stringify(atEngine)).not.toMatch(
      /input_text|"call_id"|encrypted|"namespace"|prompt_cache_key|client_metadata|"include"|"store"|Thinking it over/,
    );
  }

  function textsIn({ input, instructions }: JsonObject): unknown[] {
    const contents = listOr(input).map((item) => objectOr(item)['content'] ?? objectOr(item)['output']);
    const texts = contents.flatMap((content) =>
      typeof content === 'string' ? [content] : listOr(content).map((part) => objectOr(part)['text']),
    );
    return [input, instructions, ...texts].filter((text) => typeof text === 'string');
  }

  /** What the official client's accumulator makes of the stream, which keeps the rules of the dialect. */
  function accepted(response: RawResponse): Promise<unknown> {
    expect(response.header('content-type')).toContain('text/event-stream');
    expect(brokenInvariant('responses', new SseFrameReader().push(response.body), 'complete')).toBeUndefined();
    return official(response.body);
  }
});

it('keeps cookies and keys of any kind from the engine', async () => {
  const recording = recordings.find(({ name }) => name === 'sdk-openai--chat');
  if (recording === undefined) throw new Error('the recording sdk-openai--chat is gone');
  const secrets = { Cookie: 'session=secret-1', 'X-Api-Key': 'secret-2', 'Proxy-Authorization': 'Basic secret-3' };
  const response = await replay({ ...recording, headers: { ...recording.headers, ...secrets } });
  expect(response.status).toBe(200);
  expectNothingPrivate(engine.lastRequest);
  expect(engine.lastRequest?.rawHeaders.join('\n')).not.toContain('secret-');
});

function replay({ method, path, headers, body }: Recording): Promise<RawResponse> {
  const host = `127.0.0.1:${String(gateway.port)}`;
  const onWire = Object.entries(headers).map(
    ([name, value]) => [name, name.toLowerCase() === 'host' ? host : value] as const,
  );
  return sendRaw(gateway.port, {
    method,
    path,
    headers: onWire,
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
}

function answerLikeVllm(request: EngineRequest): EngineScript {
  if (request.path === '/v1/embeddings') return embeddingsAnswer(request, [[0.5, -1]]);
  const { stream } = objectOr(jsonOf(request));
  if (stream !== true) return chatAnswer(CHAT_MODEL, { content: 'Hello.' });
  return chatStream(CHAT_MODEL, ['Hel', 'lo.'], askedForUsage(request));
}

/** A stream whose client does not ask for its usage: the gateway has to. */
const needsUsage = ({ stream, stream_options }: JsonObject): boolean =>
  stream === true && objectOr(stream_options)['include_usage'] !== true;

/** What the engine must see: the body as it was sent, but for the documented edits that it calls for at a vLLM server. */
function expectedAtEngine(body: JsonObject): JsonObject {
  const messages = listOr(body['messages']).map((message) => {
    const { role, ...rest } = objectOr(message);
    return { ...rest, role: role === 'developer' ? 'system' : role };
  });
  return {
    ...body,
    ...('messages' in body ? { messages } : {}),
    ...(needsUsage(body) ? { stream_options: { ...objectOr(body['stream_options']), include_usage: true } } : {}),
  };
}

const errorIn = (response: RawResponse): unknown => objectOr(response.json())['error'];

function expectNothingPrivate(request: EngineRequest | undefined): void {
  const names = Object.keys(request?.headers ?? {});
  expect(names.filter((name) => PRIVATE.test(name))).toEqual([]);
}

/** The usage chunk is there exactly where it was asked for, and the stream is never compressed. */
function expectStreamFor(body: JsonObject, response: RawResponse): void {
  expect(response.header('content-type')).toContain('text/event-stream');
  expect(response.header('content-encoding')).toBeUndefined();
  const text = response.text();
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  expect(text.includes('"choices":[]')).toBe(isObject(body['stream_options']) && !needsUsage(body));
}
