import { forceModel } from './force-model.js';
import { scanRequest } from '../scan-request.js';
import { spliceBody } from './splice-body.js';

const forced = (text: string, model = 'ornith:35b'): string => {
  const body = Buffer.from(text);
  return spliceBody(body, forceModel(scanRequest(body), model)).toString();
};

describe('forceModel', () => {
  it.each([
    ['{"a":1.0,"model" : "other" ,"b":[]}', '{"a":1.0,"model" : "ornith:35b" ,"b":[]}'],
    ['{"mo\\u0064el":{"x":[1]}}', '{"mo\\u0064el":"ornith:35b"}'],
    ['{"model":null}', '{"model":"ornith:35b"}'],
    ['{"a":1}', '{"model":"ornith:35b","a":1}'],
    [' { "a":{"model":"x"} }', ' {"model":"ornith:35b", "a":{"model":"x"} }'],
    ['{}', '{"model":"ornith:35b"}'],
    ['{ \n}', '{"model":"ornith:35b" \n}'],
    ['{"MODEL": "other","a":1}', '{"model":"ornith:35b","a":1}'],
  ])('makes %j name the model', (text, result) => expect(forced(text)).toBe(result));

  it('touches nothing where the body names that model, however it is written', () => {
    const body = Buffer.from('{"model":"ornith\\u003a35b"}');
    expect(forceModel(scanRequest(body), 'ornith:35b')).toEqual([]);
  });

  it('writes a name of any characters', () => {
    expect(JSON.parse(forced('{"a":1}', 'a"b\\ü'))).toEqual({ model: 'a"b\\ü', a: 1 });
  });
});
