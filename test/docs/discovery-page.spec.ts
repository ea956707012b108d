import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';

const read = (file: string): string =>
  readFileSync(new URL(`../../public/${file}`, import.meta.url), 'utf8');

type Entry = Readonly<Record<string, unknown>>;
type Literal = (text: unknown) => string;

/** The page's modules, run without the module system of a browser. */
const plainScript = (file: string): string =>
  read(file)
    .replace(/^import .*$/gm, '')
    .replace(/^export /gm, '');

const { snippetsOf, webUrl, literals } = runInNewContext(
  `${plainScript('discovery-snippets.js')};({ snippetsOf, webUrl, literals })`,
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

describe('the page of the catalogue', () => {
  it('shows entries: prices in tokens it knows, what was paid last, and how to buy', async () => {
    const unknown = { ...OFFER, asset: '0xUnknown', amount: '5' };
    const { text, outcome, asked } = await open({
      items: [{ ...GET_ENTRY, accepts: [OFFER, unknown] }],
    });
    expect(asked).toContain('discovery/resources?limit=20');
    expect(outcome).toBe('1 shown.');
    for (const part of ['1.5 USDX', '5 atomic units of 0xUnknown', '2026-11-22 10:11 UTC', PAYEE]) {
      expect(text).toContain(part);
    }
    expect(text).toContain('How to buy it');
  });

  it('shows what sellers say as text of bounded length that turns nothing around', async () => {
    const words = {
      description: `\u202Eevil\u2066 <img src=x onerror=alert(1)>${'x'.repeat(9000)}`,
      resource: 'javascript:alert(1)',
      serviceName: '<script>alert(1)</script>\0',
      payTo: '\u202E0x1',
      network: '<b>',
      lastUpdated: 'never',
      quality: { '<b>': '<i>' },
      accepts: [{ scheme: '<u>', amount: '<s>', asset: '\u202E' }, 'nonsense', 7],
    };
    const { text, elements, outcome } = await open({ items: [{ ...GET_ENTRY, ...words }] });
    expect(outcome).toBe('1 shown.');
    expect(text).toContain('<img src=x onerror=alert(1)>');
    expect(text).toContain('<script>alert(1)</script>');
    expect(text).not.toMatch(/[\0\u202E\u2066]/);
    expect(text.length).toBeLessThan(4000);
    const tags = new Set(elements.map(({ tag }) => tag));
    for (const tag of ['a', 'img', 'script', 'b', 'i', 'u', 's']) expect(tags).not.toContain(tag);
  });

  it('links to the web alone, and lends nobody its name', async () => {
    const { elements } = await open({ items: [GET_ENTRY] });
    const [link, ...others] = elements.filter(({ tag }) => tag === 'a');
    expect(others).toEqual([]);
    expect(link?.attributes).toMatchObject({ href: 'https://shop.example/weather' });
    expect(link?.attributes['rel']?.split(' ')).toEqual(
      expect.arrayContaining(['noopener', 'nofollow', 'ugc']),
    );
    expect(link?.children[0]).toMatchObject({ tag: 'bdi' });
  });

  it('says why there is nothing', async () => {
    const off = await open({ items: [] }, { code: 'catalogue_off' });
    expect(off.outcome).toMatch(/^This facilitator keeps no catalogue/);
    const none = await open({ items: [] }, { code: 'unknown' });
    expect(none.outcome).toBe('Nothing is listed yet.');
  });

  it('says what went wrong', async () => {
    const { outcome } = await open({ error: 'The catalogue is unavailable. Try again.' }, {}, 503);
    expect(outcome).toBe('The catalogue is unavailable. Try again.');
  });

  it('searches for words, goes on where the answer ended, and looks up a resource', async () => {
    const page = await open(
      { resources: [GET_ENTRY], pagination: { limit: 20, cursor: 'bzIw' } },
      {
        listed: false,
        code: 'not_declared',
        message: 'Nothing is declared.',
      },
    );
    page.fields({ words: ' rain ', type: 'mcp', network: 'eip155:56' });
    await page.fire('ask', 'submit');
    expect(page.asked.at(-1)).toBe(
      'discovery/search?query=rain&type=mcp&network=eip155%3A56&limit=20',
    );
    await page.fire('more', 'click');
    expect(page.asked.at(-1)).toMatch(/&cursor=bzIw$/);
    expect(page.byId('found')?.children).toHaveLength(2);
    page.fields({ resource: 'https://shop.example/x' });
    await page.fire('check', 'submit');
    expect(page.asked.at(-1)).toBe('discovery/status?resource=https%3A%2F%2Fshop.example%2Fx');
    expect(page.byId('standing')?.textContent).toBe('Nothing is declared. (not_declared)');
  });

  it('has neither scripts nor styles of its own, nor ways around text', () => {
    expect(read('discovery.html')).not.toMatch(/<script>|<style|style=|\son[a-z]+=/);
    for (const file of ['discovery.js', 'discovery-snippets.js']) {
      expect(read(file)).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/,
      );
    }
  });

  it('names its fields for those who do not see it', () => {
    const fields = [...read('discovery.html').matchAll(/<(?:input|select)[^>]*>/g)];
    expect(fields).toHaveLength(4);
    for (const [field] of fields) expect(field).toMatch(/aria-label="[^"]+"/);
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

/** As much of an element as the page uses. Text stays text: there is no parser to give it to. */
class FakeElement {
  readonly children: (FakeElement | string)[] = [];
  readonly attributes: Record<string, string> = {};
  readonly listeners: Record<string, (event: object) => void> = {};
  textContent = '';
  className = '';
  value = '';
  hidden = false;
  disabled = false;

  constructor(readonly tag: string) {}

  setAttribute(name: string, value: string): void {
    this.attributes[name] = value;
  }

  append(...children: (FakeElement | string)[]): void {
    this.children.push(...children);
  }

  replaceChildren(...children: (FakeElement | string)[]): void {
    this.children.splice(0, Infinity, ...children);
  }

  addEventListener(name: string, listener: (event: object) => void): void {
    this.listeners[name] = listener;
  }

  get all(): readonly FakeElement[] {
    return [
      this,
      ...this.children.flatMap((child) => (typeof child === 'string' ? [] : child.all)),
    ];
  }

  get text(): string {
    const parts = this.children.map((child) => (typeof child === 'string' ? child : child.text));
    return this.textContent + parts.join('');
  }
}

const ASSETS = { assets: [{ network: 'eip155:56', asset: TOKEN, symbol: 'USDX', decimals: 18 }] };

async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Opens the page; every list and search is answered alike. */
async function open(found: unknown, status: unknown = {}, httpStatus = 200) {
  const ids = [...read('discovery.html').matchAll(/ id="([a-z]+)"/g)].map(([, id]) => id ?? '');
  const parts = new Map(ids.map((id) => [id, new FakeElement(id)]));
  const byId = (id: string): FakeElement | undefined => parts.get(id);
  const asked: string[] = [];
  runInNewContext(plainScript('discovery.js'), {
    snippetsOf,
    webUrl,
    URL,
    URLSearchParams,
    document: { getElementById: byId, createElement: (tag: string) => new FakeElement(tag) },
    fetch: (url: string) => {
      if (url.startsWith('v2/assets')) return Promise.resolve(answer(200, ASSETS));
      asked.push(url);
      const isStatus = url.startsWith('discovery/status');
      return Promise.resolve(isStatus ? answer(200, status) : answer(httpStatus, found));
    },
  });
  await settled();
  return {
    asked,
    byId,
    text: byId('found')?.text ?? '',
    elements: byId('found')?.all ?? [],
    outcome: byId('outcome')?.textContent,
    fields: (values: Readonly<Record<string, string>>): void => {
      for (const [id, value] of Object.entries(values)) Object.assign(byId(id) ?? {}, { value });
    },
    fire: async (id: string, event: string): Promise<void> => {
      byId(id)?.listeners[event]?.({ preventDefault: () => undefined });
      await settled();
    },
  };
}

function answer(status: number, body: unknown) {
  return { ok: status === 200, status, json: () => Promise.resolve(body) };
}
