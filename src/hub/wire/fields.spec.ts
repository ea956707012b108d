import { describe, expect, it } from '@jest/globals';
import { countOf, readFormFields, readJsonFields, textOf } from './fields.js';

const json = (text: string) => readJsonFields(Buffer.from(text));

describe('fields', () => {
  it('are known in any case; the last one of a name counts', () => {
    const fields = json('{"Owner":"a","OWNER":"b","ID":"i"}');
    expect([textOf(fields, 'owner'), textOf(fields, 'id')]).toEqual(['b', 'i']);
    expect(textOf(fields, 'message')).toBe('');
    expect(textOf(json('{"id":null}'), 'id')).toBe('');
  });

  it('are text or nothing', () => {
    for (const value of ['5', 'true', '[1]', '{"a":1}']) {
      expect(() => textOf(json(`{"message":${value}}`), 'message')).toThrow(
        /cannot unmarshal .* into Go struct field MemeStruct.message of type string/,
      );
    }
  });

  it('have no half characters, in which two names could look alike', () => {
    expect(textOf(json(String.raw`{"id":"a\ud800"}`), 'id')).toBe('a\ufffd');
  });

  it.each([
    ['', 'EOF'],
    [' \n', 'EOF'],
    ['{"a":', 'unexpected EOF'],
    ['{"a":"b', 'unexpected EOF'],
    ['{x', 'invalid character "x" in JSON'],
    ['null', 'cannot unmarshal null'],
    ['3', 'cannot unmarshal number'],
  ])('are refused in %j', (text, message) => {
    expect(() => json(text)).toThrow(message);
  });

  it.each([
    ['levels', `{"message":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['lists', `{"message":[${'[],'.repeat(20_000)}[]]}`],
    ['names', `{${Array.from({ length: 20_001 }, (_, at) => `"${at}":1`).join(',')}}`],
  ])('of too many %s are refused before they are read', (_, text) => {
    expect(() => json(text)).toThrow(
      'json: nested too deep, or too many objects, lists and fields',
    );
  });

  it('may hold a text of many brackets and colons', () => {
    const message = '[{"a":'.repeat(30_000);
    expect(textOf(json(JSON.stringify({ message })), 'message')).toBe(message);
  });

  it('of a form go before those of the query, whether form or JSON', () => {
    const query = { Name: 'q', owner: 'o' };
    const form = readFormFields(Buffer.from('name=f&x=1'), query);
    expect([textOf(form, 'name'), textOf(form, 'owner')]).toEqual(['f', 'o']);
    expect(textOf(readFormFields(Buffer.from(' {"NAME":"j"}'), query), 'name')).toBe('j');
    expect(textOf(readFormFields(Buffer.alloc(0), { name: ['a', 'b'] }), 'name')).toBe('a');
  });

  it('count within bounds', () => {
    const fields = readFormFields(Buffer.from('a=5&b=-1&c=x&d=999999999&e='), {});
    const counts = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => countOf(fields, name, 7, 100));
    expect(counts).toEqual([5, 7, 7, 100, 7, 7]);
  });
});
