// Compares the request scanner with what a server without it would do: JSON.parse(body.toString()).
// Run after a build: node test/bench/scan.bench.mjs [folder with the compiled core of the dialects]
import { readFileSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { scaled } from './scale.mjs';

const here = import.meta.dirname;
const compiled = resolve(process.argv[2] ?? `${here}/../../dist/modules/dialects/core`);
const { scanRequest } = await import(pathToFileURL(`${compiled}/scan-request.js`).href);

const ROUNDS = scaled(41, 6);
const ROUND_MS = scaled(25);

const json = (value, indent) => Buffer.from(JSON.stringify(value, undefined, indent));

/** Recorded requests of real clients, of the chat dialect. */
const recorded = readdirSync(`${here}/../clients/requests`)
  .map((file) => JSON.parse(readFileSync(`${here}/../clients/requests/${file}`, 'utf8')).request)
  .filter((request) => request.path.endsWith('/chat/completions'))
  .map((request) => request.body);

const prose = (bytes, seed) => {
  const words = 'the tide comes in over flat sand and nobody counts the waves, not even once'.split(' ');
  let text = '';
  for (let index = seed; text.length < bytes; index = (index * 31 + 7) % 9973)
    text += `${words[index % words.length]} `;
  return text;
};
const code = (bytes) => {
  let text = '';
  for (let line = 0; text.length < bytes; line++)
    text += `  const value${line} = read("file-${line % 7}.ts"); // line ${line}\n`;
  return text;
};
const turns = (count, textOf) =>
  Array.from({ length: count }, (_, turn) => ({ role: turn % 2 === 0 ? 'user' : 'assistant', content: textOf(turn) }));
const agentTurns = (count, bytes) =>
  Array.from({ length: count }, (_, turn) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: `call_${turn}`,
          type: 'function',
          function: { name: 'write_file', arguments: JSON.stringify({ path: `src/${turn}.ts`, text: code(bytes) }) },
        },
      ],
    },
    { role: 'tool', tool_call_id: `call_${turn}`, content: code(bytes) },
  ]).flat();

const chat = (messages) => ({ model: 'reasoning', messages, stream: true, max_tokens: 1024, temperature: 0.2 });
const tools = recorded.flatMap((body) => body.tools ?? []);

const BODIES = {
  '1 KB chat': json(chat(turns(3, (turn) => prose(280, turn + 1)))),
  '1 KB chat, indented': json(chat(turns(3, (turn) => prose(240, turn + 1))), 2),
  'recorded tools, few texts': json({ ...chat(turns(2, (turn) => prose(80, turn + 1))), tools }),
  '300 KB chat': json(chat(turns(60, (turn) => prose(5_000, turn + 1)))),
  '300 KB agent loop (code, escapes)': json(chat(agentTurns(30, 4_700))),
  '300 KB chat, not Latin': json(chat(turns(60, (turn) => `${'潮の満ち引き'.repeat(250)}${turn}`))),
  '5 MB chat': json(chat(turns(100, (turn) => prose(50_000, turn + 1)))),
  '5 MB image as base64': json(
    chat([
      {
        role: 'user',
        content: [
          {
            type: 'image_url',
            image_url: { url: `data:image/png;base64,${Buffer.alloc(3_750_000, 'salt').toString('base64')}` },
          },
        ],
      },
    ]),
  ),
  '1 MB token lists': json({
    model: 'reasoning',
    prompt: Array.from({ length: 40 }, (_, list) =>
      Array.from({ length: 4_000 }, (_, token) => (list * 977 + token * 31) % 128_000),
    ),
  }),
};

const CONTENDERS = {
  scan: (body) => scanRequest(body).stream,
  parse: (body) => JSON.parse(body.toString()).stream,
};

/** Milliseconds for one call, over one round. */
function timeOf(run, body, calls) {
  const start = performance.now();
  for (let call = 0; call < calls; call++) run(body);
  return (performance.now() - start) / calls;
}
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

for (const [name, body] of Object.entries(BODIES)) {
  const calls = Math.max(1, Math.round(ROUND_MS / timeOf(CONTENDERS.parse, body, 3)));
  const times = { scan: [], parse: [] };
  // Interleaved, and the first to go changes from round to round: noise of the machine hits both alike.
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? ['scan', 'parse'] : ['parse', 'scan'];
    for (const contender of order) times[contender].push(timeOf(CONTENDERS[contender], body, calls));
  }
  const scan = median(times.scan.slice(4));
  const parse = median(times.parse.slice(4));
  const us = (ms) => `${(ms * 1_000).toFixed(1)} us`.padStart(12);
  console.log(
    `${name.padEnd(36)} ${String(body.length).padStart(8)} B  scan ${us(scan)}  parse ${us(parse)}  scan/parse ${(scan / parse).toFixed(2)}`,
  );
}
