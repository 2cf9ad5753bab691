import { askForUsage } from './ask-for-usage.js';
import { scanRequest } from '../scan-request.js';
import { spliceBody } from './splice-body.js';

const asking = (text: string): string => {
  const body = Buffer.from(text);
  return spliceBody(body, askForUsage(scanRequest(body))).toString();
};

describe('askForUsage', () => {
  it.each([
    ['{"stream" : true }', '{"stream" : true,"stream_options":{"include_usage":true} }'],
    ['{"stream":true,"n":1.0}', '{"stream":true,"stream_options":{"include_usage":true},"n":1.0}'],
    ['{"stream_options":null,"stream":true}', '{"stream_options":{"include_usage":true},"stream":true}'],
    ['{"stream_options":{ },"stream":true}', '{"stream_options":{"include_usage":true},"stream":true}'],
    ['{"stream":true,"stream_options":{"x":[1]}}', '{"stream":true,"stream_options":{"include_usage":true,"x":[1]}}'],
    [
      '{"stream":true,"stream_options":{"x":1,"include_usage": false}}',
      '{"stream":true,"stream_options":{"x":1,"include_usage": true}}',
    ],
    [
      '{"stream":true,"stream_options":{"include\\u005fusage":null}}',
      '{"stream":true,"stream_options":{"include\\u005fusage":true}}',
    ],
  ])('makes the stream of %j report its usage', (text, result) => expect(asking(text)).toBe(result));

  it.each([
    '{"stream":false}',
    '{"stream":null,"stream_options":{}}',
    '{"n":1}',
    '{"stream":true,"stream_options":{"include_usage":true}}',
  ])('leaves %s alone', (text) => expect(askForUsage(scanRequest(Buffer.from(text)))).toEqual([]));
});
