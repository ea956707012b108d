import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../payment/wire-values.js';
import type { ReadDeclaration } from './listing.js';
import { readDeclaration } from './read-declaration.js';

const NOBODY: ReadonlySet<string> = new Set();
const GOOD_URL = 'https://shop.example.com/a/b?c=d';
/** Of one listing: what is kept for each payment that declares it. */
const LISTING_MAX = 40_000;

function read(bazaar: unknown, resource: unknown = { url: GOOD_URL }): ReadDeclaration {
  const sent = { x402Version: 2, resource, extensions: { bazaar } };
  // As it arrives: text, parsed.
  return readDeclaration(JSON.parse(JSON.stringify(sent)) as JsonObject, {}, NOBODY);
}

function nested(depth: number): unknown {
  let value: unknown = 'end';
  for (let level = 0; level < depth; level += 1) value = { a: value };
  return value;
}

const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`key${n}`, n]));
const long = 'a'.repeat(1_000_000);
const input = { type: 'http', method: 'GET' };

const UNSAFE = /[\p{Cc}\u200B\u202A-\u202E\u2066-\u2069]|__proto__/u;

/** Shown as text; an example may be of a page. */
function wordsOf(read: ReadDeclaration): string {
  if (read.kind !== 'listing') return '';
  const { description, serviceName, toolName, mimeType, tags } = read.listing;
  return JSON.stringify([description, serviceName, toolName, mimeType, tags]);
}

function urlsOf(read: ReadDeclaration): string[] {
  if (read.kind !== 'listing') return [];
  const { resource, exampleUrl = resource, iconUrl = resource } = read.listing;
  return [resource, exampleUrl, iconUrl];
}

describe('a hostile declaration', () => {
  it.each<[string, unknown, unknown?]>([
    ['a schema of 1 MiB', { info: { input }, schema: { description: long } }],
    ['a schema with 100 000 names', { info: { input }, schema: { properties: wide } }],
    ['a schema 5000 deep', { info: { input }, schema: nested(5000) }],
    ['parameters 5000 deep', { info: { input: { ...input, queryParams: nested(5000) } } }],
    ['100 000 parameters', { info: { input: { ...input, queryParams: wide } } }],
    ['a parameter of 1 MiB', { info: { input: { ...input, queryParams: { a: long } } } }],
    ['an example of 1 MiB', { info: { input, output: { type: long, example: long } } }],
    ['a template of 1 MiB', { info: { input }, routeTemplate: `/${'%25'.repeat(300_000)}` }],
    ['parameters in a template', { info: { input }, routeTemplate: '/:a'.repeat(600) }],
    ['a description of 1 MiB', { info: { input } }, { url: GOOD_URL, description: long }],
    ['tags on end', { info: { input } }, { url: GOOD_URL, description: '<a'.repeat(500_000) }],
    ['100 000 tags', { info: { input } }, { url: GOOD_URL, tags: Object.keys(wide) }],
    ['a URL of 1 MiB', { info: { input } }, { url: `https://shop.example.com/${long}` }],
  ])('is read in milliseconds: %s', (_, bazaar, resource = { url: GOOD_URL }) => {
    const sent = { x402Version: 2, resource, extensions: { bazaar } } as JsonObject;
    // Of the processor: others may use it too.
    const begun = process.cpuUsage();
    const result = readDeclaration(sent, {}, NOBODY);
    expect(process.cpuUsage(begun).user).toBeLessThan(250_000);
    expect(JSON.stringify(result).length).toBeLessThan(LISTING_MAX);
  });

  it('never has its expressions run or repeated', () => {
    const property = { type: 'string', pattern: '(a+)+$' };
    const schema = {
      type: 'object',
      properties: { a: property },
      patternProperties: { '(a+)+$': {} },
    };
    const bazaar = {
      info: { input: { ...input, queryParams: { a: `${'a'.repeat(40)}!` } } },
      schema,
    };
    expect(JSON.stringify(read(bazaar))).not.toContain('(a+)+$');
  });

  it.each(['__proto__', 'constructor', 'prototype', 'pattern', 'patternProperties'])(
    'hides no name behind what is not seen: %s',
    (name) => {
      const hidden = `${name.slice(0, 3)}\u200B${name.slice(3)}`;
      const schema = { type: 'object', properties: { a: { [hidden]: '(a+)+$' } } };
      const info = { input: { type: 'mcp', toolName: 'x', inputSchema: schema } };
      const text = JSON.stringify(read({ info, schema }));
      expect(text).toContain('"properties":{"a":{}}');
      expect(text).not.toContain('(a+)+$');
    },
  );

  it('hides no schema elsewhere behind what is not seen', () => {
    const schema = { '$r\u2060ef': 'https://elsewhere.example.com/schema.json' };
    expect(JSON.stringify(read({ info: { input }, schema }))).not.toContain('elsewhere');
  });

  it('is bounded, whatever it is: ten thousand of them', () => {
    const random = generator(7);
    const kinds = new Map<string, number>();
    const begun = process.cpuUsage();
    for (let n = 0; n < 10_000; n += 1) {
      const bazaar = random.value(4);
      const result = read(bazaar, random.resource());
      const text = JSON.stringify(result);
      expect(text.length).toBeLessThan(LISTING_MAX);
      expect(text).not.toMatch(UNSAFE);
      expect(wordsOf(result)).not.toContain('<img');
      for (const url of urlsOf(result)) expect(url).toMatch(/^(https?|mcp):\/\//);
      kinds.set(result.kind, (kinds.get(result.kind) ?? 0) + 1);
    }
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(process.cpuUsage(begun).user).toBeLessThan(20_000_000);
    // Else it would be no test of what is listed.
    expect(kinds.get('listing')).toBeGreaterThan(1000);
    expect(kinds.get('fault')).toBeGreaterThan(1000);
  });
});

/** Declarations that are nearly right, and wrong in every way that was thought of. */
function generator(seed: number) {
  let state = seed;
  const below = (most: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
  const one = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  const WORDS = [
    'weather',
    '\u202Egnp.exe',
    'a\u0000b',
    '\u200B',
    '<img src=x onerror=alert(1)>',
    '(a+)+$',
    'javascript:alert(1)',
    'https://rival.example.com/',
    '\uD800',
    '𝕏',
    ' ',
    '0',
    '$ref',
    long.slice(0, 5000),
  ];
  const NAMES = [
    'a',
    'type',
    '__proto__',
    'constructor',
    'pattern',
    '$ref',
    'x\u202Ey',
    'properties',
  ];
  const METHODS = ['GET', 'GET', 'HEAD', 'POST', 'POST', 'PUT', 'get', 'TRACE', '', undefined, 7];
  const json = (depth: number): unknown => {
    const kind = below(depth > 0 ? 7 : 4);
    if (kind === 0) return one(WORDS);
    if (kind === 1) return below(1000);
    if (kind < 4) return one([true, false, null]);
    const size = below(6);
    if (kind === 4) return Array.from({ length: size }, () => json(depth - 1));
    // As a parser makes it: `__proto__` is a name like others.
    const members = Array.from(
      { length: size },
      () => `${JSON.stringify(one(NAMES))}:${JSON.stringify(json(depth - 1))}`,
    );
    return JSON.parse(`{${members.join(',')}}`);
  };
  const someInput = (depth: number): unknown => {
    const type = one(['http', 'http', 'http', 'mcp', 'mcp', 'ws', 5]);
    return {
      type,
      method: one(METHODS),
      bodyType: one([...new Array<undefined>(6), 'json', 'xml', 1]),
      queryParams: json(depth),
      body: json(depth),
      headers: json(depth),
      toolName: one(WORDS),
      inputSchema: one([{ a: json(depth) }, json(depth)]),
      transport: one(['sse', undefined, 'x']),
      description: one(WORDS),
    };
  };
  return {
    value: (depth: number): unknown => {
      if (below(10) === 0) return json(depth);
      const output = { type: one(WORDS), example: json(depth) };
      const info = below(10) === 0 ? json(depth) : { input: someInput(depth), output };
      return { info, schema: json(depth), routeTemplate: one(['/a/:b', '/:x/b', '/a/../b', 7]) };
    },
    resource: (): unknown => ({
      url: one([
        ...new Array<string>(20).fill(GOOD_URL),
        'mcp://tool/x',
        ...WORDS,
        undefined,
        null,
        7,
        'http://127.0.0.1/',
      ]),
      description: one(WORDS),
      serviceName: one(WORDS),
      mimeType: one(WORDS),
      tags: [one(WORDS), one(WORDS)],
      iconUrl: one(WORDS),
    }),
  };
}
