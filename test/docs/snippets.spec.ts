import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';

const read = (file: string): string =>
  readFileSync(new URL(`../../public/pages/${file}`, import.meta.url), 'utf8');

type Entry = Readonly<Record<string, unknown>>;
type Literal = (text: unknown) => string;

/** The page's modules, run without the module system of a browser. */
const plainScript = (file: string): string =>
  read(file)
    .replace(/^import .*$/gm, '')
    .replace(/^export /gm, '');

const { snippetsOf, webUrl, literals } = runInNewContext(
  `${plainScript('snippets.js')};({ snippetsOf, webUrl, literals })`,
  { URL },
) as {
  snippetsOf: (entry: Entry) => readonly (readonly [string, string])[];
  webUrl: (said: unknown) => URL | undefined;
  literals: Readonly<Record<'typescript' | 'python' | 'go', Literal>>;
};

const PAYEE = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
const TOKEN = '0xcE24439F2D9C6a2289F741120FE202248B666666';
const OFFER = {
  scheme: 'exact',
  network: 'eip155:56',
  amount: '1500000000000000000',
  asset: TOKEN,
  payTo: PAYEE,
};
const GET_ENTRY = {
  resource: 'https://shop.example/weather',
  type: 'http',
  x402Version: 2,
  method: 'GET',
  accepts: [OFFER],
  lastUpdated: '2026-11-22T10:11:12.000Z',
  description: 'Weather',
  network: 'eip155:56',
  payTo: PAYEE,
  otherPayees: 0,
  discoveryInfo: { input: { type: 'http', method: 'GET', queryParams: { city: 'Berlin' } } },
};
const POST_ENTRY = {
  ...GET_ENTRY,
  method: 'POST',
  discoveryInfo: { input: { type: 'http', method: 'POST', bodyType: 'json', body: { a: 1 } } },
};
const TOOL_ENTRY = {
  ...GET_ENTRY,
  resource: 'mcp://tool/weather',
  type: 'mcp',
  toolName: 'weather',
  method: undefined,
  discoveryInfo: { input: { type: 'mcp', toolName: 'weather', example: { city: 'Berlin' } } },
};

/** What tries to leave a string, of each of the languages and of the page. */
const BREAKOUTS = [
  '"; process.exit(); "',
  "'; import os; '",
  '`${process.exit()}`',
  '\\"; evil(); //',
  '\nimport os\n',
  '\r\nevil()\r\n',
  '\u2028evil()\u2029',
  '"""\nevil()\n"""',
  '\\',
  '\\\\"',
  '\u202Eevil\u2066',
  '</script><script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '\0',
  '\u{1F600}',
  '\uD800',
  'a\uDC00b',
  '\\u0022);evil()',
  '*/ evil() /*',
  '# \n// \nx',
];

const STRING = /"(?:[^"\\]|\\.)*"/g;
/** A snippet with every string emptied: what is left is ours. */
const frameOf = (snippet: string): string => snippet.replace(STRING, '""');

/** What a literal of Python or Go means. */
const decoded = (text: string): string =>
  text
    .slice(1, -1)
    .replace(/\\(?:U([0-9a-f]{8})|u([0-9a-f]{4})|(["\\]))/g, (_, wide, narrow, plain) =>
      typeof plain === 'string'
        ? plain
        : String.fromCodePoint(parseInt(String(wide ?? narrow), 16)),
    );

describe('a literal of a snippet', () => {
  it.each(BREAKOUTS)('holds %j, and is one string of printable ASCII', (text) => {
    for (const quote of Object.values(literals)) {
      expect(quote(text)).toMatch(
        /^"(?:[ !#-[\]-~]|\\["\\]|\\u[0-9a-f]{4}|\\u\{[0-9a-f]+\}|\\U[0-9a-f]{8})*"$/,
      );
    }
    const whole = Buffer.from(text).toString();
    expect(runInNewContext(literals.typescript(text))).toBe(whole);
    expect(decoded(literals.python(text))).toBe(whole);
    expect(decoded(literals.go(text))).toBe(whole);
  });
});

describe('snippets', () => {
  it.each([
    [GET_ENTRY, ['"https://shop.example/weather?city=Berlin"', '"GET"']],
    [POST_ENTRY, [String.raw`"{\"a\":1}"`, '"POST"', '"application/json"']],
    [TOOL_ENTRY, [String.raw`"{\"city\":\"Berlin\"}"`, '"weather"']],
  ])('have method, place, input and price of the entry', (entry, parts) => {
    const snippets = snippetsOf(entry);
    expect(snippets.map(([language]) => language)).toEqual(['TypeScript', 'Python', 'Go']);
    for (const [, text] of snippets) {
      for (const part of [...parts, `"${OFFER.amount}"`, `"${TOKEN}"`, '"eip155:56"']) {
        expect(text).toContain(part);
      }
    }
  });

  it.each([
    ['a request', GET_ENTRY, ['resource', 'exampleUrl', 'method', 'network']],
    ['a body', POST_ENTRY, ['network', 'exampleUrl']],
    ['a tool', { ...TOOL_ENTRY, resource: 'https://shop.example/mcp' }, ['toolName', 'resource']],
  ] as const)('of %s are left by no word of a seller', (_, entry, fields) => {
    const frames = snippetsOf(entry).map(([, text]) => frameOf(text));
    for (const text of BREAKOUTS) {
      const hostile = [
        ...fields.map((field) => ({ ...entry, [field]: hostileOf(field, text) })),
        { ...entry, accepts: [{ ...OFFER, network: text, asset: text, amount: text }] },
        { ...entry, discoveryInfo: { input: inputWith(entry.discoveryInfo.input, text) } },
      ];
      for (const one of hostile) {
        const snippets = snippetsOf(one);
        expect(snippets.map(([, snippet]) => frameOf(snippet))).toEqual(frames);
        for (const [, snippet] of snippets) expect(snippet).toMatch(/^[\n\t -~]+$/);
      }
    }
  });

  it('speak the version and the scheme of the offer', () => {
    const upto = snippetsOf({ ...GET_ENTRY, accepts: [{ ...OFFER, scheme: 'upto' }] });
    expect(upto.every(([, text]) => /UptoEvm(Client)?Scheme/.test(text))).toBe(true);
    const { amount: maxAmountRequired, ...offer } = OFFER;
    const v1 = snippetsOf({
      ...GET_ENTRY,
      x402Version: 1,
      accepts: [{ ...offer, maxAmountRequired, network: 'bsc' }],
    }).map(([, text]) => text);
    expect(v1[0]).toContain('registerExactEvmScheme(client, { signer: account });');
    expect(v1[2]).toContain('RegisterV1("bsc", evm.NewExactEvmSchemeV1(signer))');
  });

  it.each([
    { accepts: [{ ...OFFER, scheme: 'batch-settlement' }] },
    { accepts: [] },
    { accepts: 'none' },
    { resource: 'javascript:alert(1)' },
    { resource: 'mcp://tool/x' },
    { resource: 7 },
  ])('are not made up: %j', (change) => {
    expect(snippetsOf({ ...GET_ENTRY, ...change })).toEqual([]);
  });
});

describe('a URL that may become a link', () => {
  it.each(['https://a.example/b?c#d', 'http://a.example'])('is %s', (url) => {
    expect(webUrl(url)?.protocol).toMatch(/^https?:$/);
  });

  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' data:text/html,x',
    'mcp://tool/x',
    '//a',
    'https://user:pass@a.example',
    'blob:https://a.example/x',
    'file:///x',
    '',
    {},
    null,
    `https://a.example/${'x'.repeat(2048)}`,
  ])('is not %j', (url) => {
    expect(webUrl(url)).toBeUndefined();
  });
});

function hostileOf(field: string, text: string): string {
  const isUrl = field === 'resource' || field === 'exampleUrl';
  return isUrl ? `https://shop.example/${text}?x=${text}#${text}` : text;
}

function inputWith(input: Entry, text: string): Entry {
  const hostile = { [text]: text, __proto__: { evil: text } };
  return {
    ...input,
    ...('queryParams' in input && { queryParams: hostile }),
    ...('body' in input && { body: hostile }),
    ...('example' in input && { example: hostile }),
  };
}
