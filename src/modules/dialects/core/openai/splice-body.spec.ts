import fc from 'fast-check';
import { scanRequest } from '../scan-request.js';
import type { MemberName } from '../member-names.js';
import { edit, spliceBody, withoutMembers } from './splice-body.js';

describe('spliceBody', () => {
  const body = Buffer.from('0123456789');

  it('hands the same body on where nothing is edited', () => {
    expect(spliceBody(body, [])).toBe(body);
  });

  it('replaces, inserts and removes in one go, in whatever order the edits come', () => {
    const edits = [edit(10, 10, '!'), edit(2, 4, 'abc'), edit(0, 0, '>'), edit(4, 5, ''), edit(4, 4, '+')];
    expect(spliceBody(body, edits).toString()).toBe('>01abc+56789!');
    expect(body.toString()).toBe('0123456789');
  });

  it('keeps the order of what is inserted in one place', () => {
    expect(spliceBody(body, [edit(1, 1, 'a'), edit(1, 2, ''), edit(1, 1, 'b')]).toString()).toBe('0ab23456789');
  });

  it('refuses edits that overlap', () => {
    expect(() => spliceBody(body, [edit(1, 4, ''), edit(3, 5, '')])).toThrow(RangeError);
  });
});

describe('withoutMembers', () => {
  const without = (text: string, names: readonly MemberName[]): string => {
    const body = Buffer.from(text);
    const scan = scanRequest(body);
    const members = names.map((name) => scan.member(name)).filter((member) => member !== undefined);
    return spliceBody(body, withoutMembers(scan.json, members)).toString();
  };

  it.each([
    ['{"n":1,"tools":[],"stream":true}', '{"n":1,"stream":true}'],
    ['{ "tools" : [] , "n" : 1 }', '{ "n" : 1 }'],
    ['{"n":1,\n  "tools":[]\n}', '{"n":1\n}'],
    ['{"tools":[]}', '{}'],
    ['{"n":1,"tools":[] , "tool_choice":"auto"}', '{"n":1}'],
    ['{"tools":[],"tool_choice":"auto","n":1}', '{"n":1}'],
    ['{"tools":[],"n":1,"tool_choice":"auto"}', '{"n":1}'],
    ['{"tools":[],"tool_choice":"auto"}', '{}'],
    ['{"n":1,"tools":[],"x":"}","tool_choice":"auto","y":0}', '{"n":1,"x":"}","y":0}'],
  ])('takes the tools out of %j', (text, result) => {
    expect(without(text, ['tool_choice', 'tools'])).toBe(result);
  });

  it('leaves the other members as they were, whichever go', () => {
    const names: readonly MemberName[] = ['model', 'tools', 'tool_choice', 'n', 'top_n', 'query'];
    fc.assert(
      fc.property(
        fc.shuffledSubarray([...names]),
        fc.subarray([...names]),
        fc.constantFrom('', ' ', '\n\t'),
        (all, gone, space) => {
          const text = `{${space}${all.map((name) => `"${name}"${space}:null${space}`).join(`,${space}`)}}`;
          expect(Object.keys(JSON.parse(without(text, gone)) as object)).toEqual(
            all.filter((name) => !gone.includes(name)),
          );
        },
      ),
    );
  });
});
