import { readdirSync, readFileSync } from 'node:fs';
import type { EngineKind } from '../../../../common/config/upstreams.config.js';
import { askForUsage } from './ask-for-usage.js';
import { forceModel } from './force-model.js';
import { repairRequest } from './repair-request.js';
import { scanRequest } from '../scan-request.js';
import { spliceBody } from './splice-body.js';

const repaired = (engine: EngineKind, text: string): string => {
  const body = Buffer.from(text);
  return spliceBody(body, repairRequest(engine, 'chat', scanRequest(body))).toString();
};
/** A body whose one message replays a call with these arguments, given as JSON text. */
const replaying = (given: string): string =>
  `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":${given}}}]}]}`;

const SELF_HOSTED: readonly EngineKind[] = ['vllm', 'sglang', 'llamacpp', 'ollama'];
const OTHERS: readonly EngineKind[] = ['tei', 'openai', 'http'];

describe('the role developer', () => {
  const body =
    '{"messages":[ {"role" : "developer","content":"\\u0042e brief."},{"role":"user","content":"\\"developer\\""}]}';

  it.each(SELF_HOSTED)('becomes system for %s, and nothing else moves', (engine) => {
    expect(repaired(engine, body)).toBe(body.replace('"developer","content"', '"system","content"'));
  });

  it.each(OTHERS)('stays for %s', (engine) => expect(repaired(engine, body)).toBe(body));

  it('is found behind escapes', () => {
    const escaped = '{"messages":[{"r\\u006fle":"\\u0064eveloper"}]}';
    expect(repaired('vllm', escaped)).toBe('{"messages":[{"r\\u006fle":"system"}]}');
  });

  it('is a role only where a message has it', () => {
    const other =
      '{"messages":[{"role":"user","name":"developer","content":[{"role":"developer"}]}],"x":[{"role":"developer"}]}';
    expect(repaired('vllm', other)).toBe(other);
  });
});

describe('limits for ollama', () => {
  it.each([
    ['{"max_completion_tokens": 50,"messages":[]}', '{"max_tokens": 50,"messages":[]}'],
    ['{"max_tokens":10,"messages":[],"max_completion_tokens":50}', '{"messages":[],"max_tokens":50}'],
    ['{"messages":[],"max_completion_tokens":50,"max_tokens":10}', '{"messages":[],"max_tokens":50}'],
    ['{"max_tokens":10,"max_completion_tokens":50,"messages":[]}', '{"max_tokens":50,"messages":[]}'],
    ['{"messages":[],"max_tokens":10,"max_completion_tokens":null}', '{"messages":[],"max_tokens":10}'],
  ])('go by the name that it knows: %s', (body, result) => {
    expect(repaired('ollama', body)).toBe(result);
    expect(repaired('vllm', body)).toBe(body);
  });
});

describe('tools that are not there', () => {
  const empty = '{"tools":[ ],"tool_choice":"auto","messages":[],"parallel_tool_calls":true,"n":1}';
  it.each<EngineKind>([...SELF_HOSTED, 'openai'])('are left out with what belongs to them for %s', (engine) => {
    expect(repaired(engine, empty)).toBe('{"messages":[],"n":1}');
  });

  it.each<EngineKind>(['tei', 'http'])('stay for %s', (engine) => expect(repaired(engine, empty)).toBe(empty));

  it.each(['{"messages":[],"tool_choice":"none"}', '{"messages":[],"tool_choice":{"type":"x"},"tools":null}'])(
    'leave vllm no choice in %s',
    (body) => {
      expect(JSON.parse(repaired('vllm', body))).not.toHaveProperty('tool_choice');
      expect(repaired('ollama', body)).toBe(body);
    },
  );

  it('are no reason to touch a choice that is null or has tools', () => {
    for (const body of ['{"messages":[],"tool_choice":null}', '{"messages":[],"tool_choice":"auto","tools":[{}]}']) {
      expect(repaired('vllm', body)).toBe(body);
    }
  });
});

describe("an assistant's null content", () => {
  it('becomes empty beside tool calls, for ollama', () => {
    const body =
      '{"messages":[{"content":null,"role":"assistant","tool_calls":[]},{"role":"assistant","content":null}]}';
    const result =
      '{"messages":[{"content":"","role":"assistant","tool_calls":[]},{"role":"assistant","content":null}]}';
    expect(repaired('ollama', body)).toBe(result);
    expect(repaired('vllm', body)).toBe(body);
  });
});

describe('a message with a member twice', () => {
  it('counts the last one, as most readers do', () => {
    const kept = '{"messages":[{"role":"assistant","tool_calls":[],"content":null,"content":"x"}]}';
    expect(repaired('ollama', kept)).toBe(kept);
    const twice = '{"messages":[{"role":"user","role":"assistant","content":"x","tool_calls":[],"content":null}]}';
    expect(repaired('ollama', twice)).toBe(twice.replace('null', '""'));
    const roles = '{"messages":[{"role":"developer","role":"user"},{"role":"user","role":"developer"}]}';
    expect(repaired('vllm', roles)).toBe(roles.replaceAll('developer', 'system'));
  });
});

describe('replayed arguments', () => {
  it.each([
    ['""', '"{}"'],
    ['" \\n"', '"{}"'],
    ['null', '"{}"'],
    ['"null"', '"{}"'],
    ['{"n": 1.0, "s":"\\u00e9\\n"}', '"{\\"n\\": 1.0, \\"s\\":\\"\\\\u00e9\\\\n\\"}"'],
    ['{}', '"{}"'],
    ['"ls -l"', '"{\\"raw\\":\\"ls -l\\"}"'],
    ['"{\\"path\\": \\"a"', '"{\\"raw\\":\\"{\\\\\\"path\\\\\\": \\\\\\"a\\"}"'],
    ['"[1]"', '"{\\"raw\\":\\"[1]\\"}"'],
    ['[1]', '"{\\"raw\\":\\"[1]\\"}"'],
    ['true', '"{\\"raw\\":\\"true\\"}"'],
    ['"\\"{}\\""', '"{\\"raw\\":\\"\\\\\\"{}\\\\\\"\\"}"'],
  ])('of %s become an object in a string', (given, result) => {
    for (const engine of SELF_HOSTED) expect(repaired(engine, replaying(given))).toBe(replaying(result));
    for (const engine of OTHERS) expect(repaired(engine, replaying(given))).toBe(replaying(given));
  });

  it.each(['"{}"', '" {\\"a\\": 1.0} "', '"\\u007b\\u007d"', '"{\\"a\\":\\"\\\\ud800\\"}"'])('of %s stay', (given) => {
    expect(repaired('vllm', replaying(given))).toBe(replaying(given));
  });

  it('are looked for in calls of messages only', () => {
    const odd =
      '{"messages":[null,"arguments",{"tool_calls":{"arguments":""}},{"tool_calls":[7,{"function":null},{"arguments":""}]}]}';
    expect(repaired('vllm', odd)).toBe(odd);
    const schema =
      '{"messages":[],"tools":[{"function":{"arguments":"","parameters":{"properties":{"arguments":null}}}}]}';
    expect(repaired('vllm', schema)).toBe(schema);
  });
});

describe('repairRequest', () => {
  it('repairs nothing but chat, and nothing without messages', () => {
    const body = Buffer.from('{"tools":[],"messages":[{"role":"developer"}]}');
    expect(repairRequest('vllm', 'completions', scanRequest(body))).toEqual([]);
    expect(repaired('vllm', '{"tools":[]}')).toBe('{"tools":[]}');
    expect(repaired('vllm', '{"tools":[],"messages":"developer"}')).toBe('{"messages":"developer"}');
  });

  it('goes into one splice with a forced model and a demand for usage', () => {
    const body = Buffer.from(
      '{"tools":[],"tool_choice":"auto","stream":true,"parallel_tool_calls":false,"messages":[{"role":"developer"}]}',
    );
    const scan = scanRequest(body);
    const edits = [...repairRequest('ollama', 'chat', scan), ...askForUsage(scan), ...forceModel(scan, 'ornith:35b')];
    expect(spliceBody(body, edits).toString()).toBe(
      '{"model":"ornith:35b","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system"}]}',
    );
  });

  it('finds nothing to repair for openai and http in what real clients sent', () => {
    const folder = new URL('../../../../../test/clients/requests/', import.meta.url);
    const bodies = readdirSync(folder)
      .map(
        (file) =>
          JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as { request: { path: string; body?: object } },
      )
      .filter(({ request }) => request.path.endsWith('/chat/completions'))
      .map(({ request }) => Buffer.from(JSON.stringify(request.body)));
    expect(bodies.length).toBeGreaterThan(20);
    for (const body of bodies) {
      for (const engine of OTHERS)
        expect(spliceBody(body, repairRequest(engine, 'chat', scanRequest(body)))).toBe(body);
    }
  });
});
