import { anyText, cleanPath, headerName, modelId, name, oneOf, scope } from './texts.js';

it.each([
  ['a text', anyText, ['x', ' x ', 'groß', 'a"b'], ['', '  ', 'a\nb', 'a\0b', 7, null, undefined]],
  ['a name', name, ['reasoning', 'qwen2.5', 'a_b-c', '7'], ['', '-a', 'a b', 'a/b', 'é', 'a\n']],
  ['a model id', modelId, ['ornith:35b', 'BAAI/bge-reranker-base', '__proto__'], ['', 'a b', 'a\tb', 'a\n']],
  ['a scope', scope, ['llm:chat', 'public', '*'], ['', 'a b', 'a"b', 'a\\b', 'é']],
  ['a path', cleanPath, ['/rerank', '/v1/chat/completions', '/a/.b/..c', '/~x'], ['', '/', 'a', '/a/', '//a', '/a/../b', '/.', '/a%2e', '/a?b', '/:id', '/*']],
  ['a header', headerName, ['x-llmgw-band', 'cookie', 'x_y'], ['', 'X-Y', 'a b', 'a:', 'content-length', 'transfer-encoding', 'host', 'x\r\ny']],
  ['a word of a list', oneOf(['lower', 'any']), ['lower', 'any'], ['Lower', '', null, ['any']]],
])('%s', (_what, rule, good, bad) => {
  expect(good.filter((value) => !rule.accepts(value))).toEqual([]);
  expect(bad.filter((value) => rule.accepts(value))).toEqual([]);
}); // prettier-ignore
