import { describe, expect, it } from '@jest/globals';
import { withContentType } from './wallet-fetch.js';

const typeOf = (body: string | undefined, headers: Record<string, string> = {}): unknown => {
  const request = { url: 'https://seller.example/', method: 'POST', headers, body } as const;
  return withContentType(request).headers;
};

describe('a request of an agent with a body', () => {
  it.each(['{"message":"hello"}', ' [1] ', '{}'])(
    'says that it is JSON where it is: %s',
    (body) => {
      expect(typeOf(body, { 'X-A': '1' })).toEqual({
        'X-A': '1',
        'content-type': 'application/json',
      });
    },
  );

  it.each([undefined, '', 'hello', 'a=1&b=2', '{"cut', '"text"', '5', '<a/>'])(
    'says nothing of a body that may be anything: %s',
    (body) => {
      expect(typeOf(body)).toEqual({});
    },
  );

  it('is refused where reading it takes long, unless the agent names its type', () => {
    const long = `[${'{},'.repeat(60_000)}{}]`;
    expect(() => typeOf(long)).toThrow('Name its Content-Type in headers.');
    expect(typeOf(long, { 'content-type': 'application/json' })).toEqual({
      'content-type': 'application/json',
    });
    expect(typeOf(JSON.stringify({ text: long }))).toEqual({ 'content-type': 'application/json' });
  });

  it.each(['content-type', 'Content-Type'])('keeps the %s that the agent named', (name) => {
    expect(typeOf('{}', { [name]: 'text/plain' })).toEqual({ [name]: 'text/plain' });
  });
});
