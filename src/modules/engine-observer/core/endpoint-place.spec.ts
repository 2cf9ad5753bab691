import { credentialFrom } from './credential.js';
import { hostOf, placeOf } from './endpoint-place.js';
import { engineAddresses } from './engine-addresses.js';

describe('endpoint-place', () => {
  it.each([
    ['http://engine.llm:8000', undefined, 'engine.llm:8000', 'http://engine.llm:8000', 'engine.llm:8000'],
    ['http://engine.llm:80/', '10.0.0.7', '10.0.0.7:80', 'http://10.0.0.7:80', 'engine.llm'],
    ['http://engine.llm', 'fd00::7', '[fd00::7]:80', 'http://[fd00::7]:80', 'engine.llm'],
    ['https://engine.llm', '10.0.0.7', '10.0.0.7:443', 'https://10.0.0.7:443', 'engine.llm'],
    ['http://[::1]:9000', undefined, '[::1]:9000', 'http://[::1]:9000', '[::1]:9000'],
  ])('of %s at %s', (url, address, id, origin, authority) => {
    expect(placeOf(url, address)).toEqual({ id, origin, authority });
  });

  it('looks up the bare host', () => {
    expect(['http://engine.llm:80', 'http://[::1]:80'].map(hostOf)).toEqual(['engine.llm', '::1']);
  });
});

describe('engine-addresses', () => {
  it('are in one order, each once', () => {
    const expected = ['10.0.0.1', '10.0.0.10', '10.0.0.2'];
    expect(engineAddresses(['10.0.0.2', '10.0.0.1', '10.0.0.10', '10.0.0.2'])).toEqual(expected);
  });

  it('are of one family: two name the same engines twice', () => {
    expect(engineAddresses(['fd00::2', '10.0.0.2', 'fd00::1'])).toEqual(['10.0.0.2']);
    expect(engineAddresses(['fd00::2', 'fd00::1'])).toEqual(['fd00::1', 'fd00::2']);
  });

  it('are addresses that fit in a URL', () => {
    expect(engineAddresses(['fe80::1%eth0', 'nonsense'])).toEqual([]);
  });
});

describe('credential', () => {
  it('is the text of its file without the blanks around it', () => {
    expect(credentialFrom('  sk-123\n')).toBe('sk-123');
  });

  it.each(['', '\n', 'two words', 'line\r\nx-evil: 1', 'schlüssel'])(
    'is nothing that a header could not carry: %j',
    (text) => {
      expect(credentialFrom(text)).toBeUndefined();
    },
  );
});
