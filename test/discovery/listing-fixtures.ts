import type { Body, Json } from '../support/payments.js';

/** What a payment of V2 is sent with. */
export interface Carried {
  readonly resource?: unknown;
  readonly extensions?: unknown;
}

/** Something that sellers have asked "why am I not listed?" about, and what is true of it here. */
interface ListingFixture {
  readonly name: string;
  /** Sent with a payment of V2, or as the words of an offer of V1. */
  readonly carried?: Carried;
  readonly v1?: Json;
  /** What the settle says of it; `undefined` where it says nothing. */
  readonly said: string | undefined;
  /** The question, and the expected answer. */
  readonly asked: string;
  readonly code: string;
  /** Of the entry, where it is listed. */
  readonly listed?: Json;
}

const HOST = 'https://shop.example.com';
const input = { type: 'http', method: 'GET' };
const bazaar = (info: unknown, more: Json = {}) => ({ bazaar: { info, ...more } });
const http = (more: Json = {}) => bazaar({ input: { ...input, ...more } });
const tool = (toolName: string, more: Json = {}) =>
  bazaar({ input: { type: 'mcp', toolName, inputSchema: { type: 'object' }, ...more } });

const waiting = 'awaiting_outcome';

function good(name: string, carried: Carried, listed: Json): ListingFixture {
  const asked = String((carried.resource as Json)['url']);
  return { name, carried, said: waiting, asked, code: 'listed', listed };
}

function bad(name: string, code: string, carried: Carried): ListingFixture {
  const asked = String((carried.resource as Json)['url']);
  return { name, carried, said: code, asked, code };
}

const at = (path: string): Json => ({ url: `${HOST}/${path}` });

export const LISTING_FIXTURES: readonly ListingFixture[] = [
  good(
    'a request with a query',
    { resource: { url: `${HOST}/query?user=7#x` }, extensions: http({ queryParams: { a: 1 } }) },
    { resource: `${HOST}/query`, method: 'GET' },
  ),
  good(
    'a request with a body',
    {
      resource: at('body'),
      extensions: http({ method: 'POST', bodyType: 'json', body: { text: 'hello' } }),
    },
    { method: 'POST' },
  ),
  good(
    'a declaration that its middleware did not complete',
    { resource: at('bare'), extensions: bazaar({ input: { type: 'http' } }) },
    { method: 'GET' },
  ),
  good(
    'a route with a parameter',
    {
      resource: at('weather/berlin'),
      extensions: bazaar({ input }, { routeTemplate: '/weather/:city' }),
    },
    { resource: `${HOST}/weather/:city`, exampleUrl: `${HOST}/weather/berlin` },
  ),
  good(
    'a template of other paths',
    {
      resource: at('news/today'),
      extensions: bazaar({ input }, { routeTemplate: '/weather/:city' }),
    },
    { resource: `${HOST}/news/today` },
  ),
  good(
    'an example that its own schema denies',
    {
      resource: at('array'),
      extensions: bazaar(
        { input, output: { type: 'json', example: [1, 2] } },
        { schema: { properties: { output: { properties: { example: { type: 'object' } } } } } },
      ),
    },
    { discoveryInfo: { input, output: { type: 'json', example: [1, 2] } } },
  ),
  good(
    'a schema that names another one',
    {
      resource: at('foreign-schema'),
      extensions: bazaar({ input }, { schema: { $ref: 'https://schemas.example.com/s.json' } }),
    },
    { extensions: { bazaar: { info: { input } } } },
  ),
  good(
    'words that are too long, and an icon that is none',
    {
      resource: { ...at('wordy'), description: 'x'.repeat(600), iconUrl: 'javascript:alert(1)' },
      extensions: http(),
    },
    { description: 'x'.repeat(500) },
  ),
  good(
    'a tool',
    { resource: { url: 'mcp://tool/weather' }, extensions: tool('weather') },
    { type: 'mcp', toolName: 'weather' },
  ),
  good(
    'a tool of a server of the web',
    { resource: at('mcp'), extensions: tool('stocks', { transport: 'streamable-http' }) },
    { type: 'mcp', toolName: 'stocks' },
  ),
  {
    name: 'an offer of V1',
    v1: { resource: `${HOST}/v1`, outputSchema: { input, output: { celsius: 'number' } } },
    said: waiting,
    asked: `${HOST}/v1`,
    code: 'listed',
    listed: { x402Version: 1 },
  },
  {
    name: 'an offer of V1 without outputSchema',
    v1: { resource: `${HOST}/v1-silent` },
    said: undefined,
    asked: `${HOST}/v1-silent`,
    code: 'unknown',
  },
  {
    name: 'an offer of V1 that does not want to be found',
    v1: {
      resource: `${HOST}/v1-hidden`,
      outputSchema: { input: { ...input, discoverable: false } },
    },
    said: undefined,
    asked: `${HOST}/v1-hidden`,
    code: 'unknown',
  },
  {
    name: 'a client that drops extensions',
    carried: { resource: at('dropped') },
    said: undefined,
    asked: `${HOST}/dropped`,
    code: 'unknown',
  },
  bad('a relative URL', 'resource_invalid', {
    resource: { url: '/report' },
    extensions: http(),
  }),
  bad('a server that nobody else can reach', 'resource_not_public', {
    resource: { url: 'http://localhost:4021/report' },
    extensions: http(),
  }),
  bad('a URL that is a program', 'resource_scheme', {
    resource: { url: 'javascript:alert(1)' },
    extensions: http(),
  }),
  bad('a method that is none', 'input_method', {
    resource: at('trace'),
    extensions: http({ method: 'TRACE' }),
  }),
  bad('a body of a request that has none', 'input_body_type', {
    resource: at('body-of-get'),
    extensions: http({ bodyType: 'json' }),
  }),
  bad('a transport that is none', 'tool_transport', {
    resource: at('tool-ws'),
    extensions: tool('a', { transport: 'ws' }),
  }),
  bad('a declaration without input', 'info_missing', {
    resource: at('no-input'),
    extensions: bazaar({ output: {} }),
  }),
  bad('parameters of 100 KiB', 'info_too_large', {
    resource: at('large'),
    extensions: http({ queryParams: { a: 'x'.repeat(100_000) } }),
  }),
];

/** A payment with what it carries. */
export function carrying(body: Body, { resource, extensions }: Carried): Body {
  const { paymentPayload } = body;
  return {
    ...body,
    paymentPayload: {
      ...paymentPayload,
      ...(resource !== undefined && { resource }),
      ...(extensions !== undefined && { extensions }),
    },
  };
}
