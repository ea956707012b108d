import { describe, expect, it } from '@jest/globals';
import { declareDiscoveryExtension } from '@x402/extensions/bazaar';
import type { JsonObject } from '../payment/wire-values.js';
import type { ListingNote, ReadDeclaration } from './listing.js';
import { readDeclaration } from './read-declaration.js';

const NOBODY: ReadonlySet<string> = new Set();
const URL = 'https://shop.example.com/weather?city=berlin';

const requirements = {
  scheme: 'exact',
  network: 'eip155:56',
  maxTimeoutSeconds: 300,
  extra: { name: 'USD', version: '2', secret: 'not to be repeated' },
};

function v2(bazaar: unknown, resource: unknown = { url: URL }, more: JsonObject = {}) {
  const payload = { x402Version: 2, resource, extensions: { bazaar, other: 1 }, ...more };
  return readDeclaration(payload, requirements, NOBODY);
}

function v1(outputSchema: unknown, more: JsonObject = {}) {
  const offer = { ...requirements, resource: URL, description: 'Weather', outputSchema, ...more };
  return readDeclaration({ x402Version: 1 }, offer, NOBODY);
}

const http = (input: JsonObject = {}, more: JsonObject = {}) => ({
  info: { input: { type: 'http', method: 'GET', ...input } },
  ...more,
});

function listingOf(read: ReadDeclaration) {
  if (read.kind !== 'listing') throw new Error(`no listing: ${JSON.stringify(read)}`);
  return read.listing;
}

function faultOf(read: ReadDeclaration): string {
  return read.kind === 'fault' ? `${read.fault.code} ${read.fault.path}` : read.kind;
}

function notesOf(read: ReadDeclaration): readonly ListingNote[] {
  return read.kind === 'listing' ? read.notes : [];
}

describe('a declaration', () => {
  it('of the stock library for requests without a body is listed', () => {
    const { bazaar } = declareDiscoveryExtension({
      input: { city: 'berlin' },
      inputSchema: { properties: { city: { type: 'string' } }, required: ['city'] },
      output: { example: { celsius: 7 } },
    });
    const resource = {
      url: URL,
      description: 'Weather',
      mimeType: 'application/json',
      serviceName: 'Weather 24',
      tags: ['weather'],
      iconUrl: 'https://shop.example.com/i.png',
    };
    expect(v2(bazaar, resource)).toEqual({
      kind: 'listing',
      notes: ['method_assumed'],
      listing: {
        x402Version: 2,
        type: 'http',
        method: 'GET',
        resource: 'https://shop.example.com/weather',
        description: 'Weather',
        mimeType: 'application/json',
        serviceName: 'Weather 24',
        tags: ['weather'],
        iconUrl: 'https://shop.example.com/i.png',
        bazaar: {
          info: {
            input: { type: 'http', method: 'GET', queryParams: { city: 'berlin' } },
            output: { type: 'json', example: { celsius: 7 } },
          },
          schema: bazaar?.schema,
        },
        offer: { maxTimeoutSeconds: 300, extra: { name: 'USD', version: '2' } },
      },
    });
  });

  it('of the stock library for requests with a body is listed', () => {
    const { bazaar } = declareDiscoveryExtension({ bodyType: 'json', input: { text: 'hello' } });
    const { method, bazaar: shown } = listingOf(v2(bazaar));
    expect([method, shown.info['input']]).toEqual([
      'POST',
      { type: 'http', method: 'POST', bodyType: 'json', body: { text: 'hello' } },
    ]);
  });

  it('of the stock library for a tool is listed', () => {
    const { bazaar } = declareDiscoveryExtension({
      toolName: 'weather',
      description: 'Of a city',
      transport: 'sse',
      inputSchema: { type: 'object', properties: { city: { type: 'string', pattern: '(a+)+$' } } },
    });
    const read = v2(bazaar, { url: 'mcp://tool/weather' });
    expect(listingOf(read)).toMatchObject({
      type: 'mcp',
      resource: 'mcp://tool/weather',
      toolName: 'weather',
      bazaar: { info: { input: { inputSchema: { properties: { city: { type: 'string' } } } } } },
    });
    expect(JSON.stringify(read)).not.toContain('(a+)+$');
  });

  it('with a template stands for its paths, and names one of them', () => {
    const url = 'https://shop.example.com/weather/berlin';
    expect(listingOf(v2(http({}, { routeTemplate: '/weather/:city' }), { url }))).toMatchObject({
      resource: 'https://shop.example.com/weather/:city',
      exampleUrl: url,
    });
    const other = v2(http({}, { routeTemplate: '/:everything' }), { url });
    expect([listingOf(other).resource, notesOf(other)]).toEqual([url, ['route_template_left_out']]);
  });

  it('of V1 is read by every name of its fields', () => {
    const names = ['queryParams', 'query_params', 'query', 'params'];
    for (const name of names) {
      const read = v1({ input: { type: 'http', method: 'get', [name]: { city: 'x' } } });
      expect(listingOf(read)).toMatchObject({
        x402Version: 1,
        resource: 'https://shop.example.com/weather',
        description: 'Weather',
        bazaar: { info: { input: { method: 'GET', queryParams: { city: 'x' } } } },
      });
    }
    const bodies = ['bodyFields', 'body_fields', 'bodyParams', 'body', 'data', 'properties'];
    for (const name of bodies) {
      const input = { type: 'http', method: 'POST', body_type: 'multipart/form-data', [name]: {} };
      expect(listingOf(v1({ input, output: { celsius: 'number' } })).bazaar.info).toEqual({
        input: { type: 'http', method: 'POST', bodyType: 'form-data', body: {} },
        output: { type: 'json', example: { celsius: 'number' } },
      });
    }
  });

  it('is of kind `none` without a declaration, and where the seller opted out', () => {
    expect(v2(undefined).kind).toBe('none');
    expect(readDeclaration({ x402Version: 2 }, requirements, NOBODY).kind).toBe('none');
    expect(v1(undefined).kind).toBe('none');
    expect(v1({ input: { type: 'http', method: 'GET', discoverable: false } }).kind).toBe('none');
    expect(v1({ output: {} }).kind).toBe('none');
  });

  it.each([
    [v2('yes'), 'info_missing paymentPayload.extensions.bazaar.info.input'],
    [v2({}), 'info_missing paymentPayload.extensions.bazaar.info.input'],
    [v2({ info: { input: [] } }), 'info_missing paymentPayload.extensions.bazaar.info.input'],
    [v2(http(), null), 'resource_missing paymentPayload.resource.url'],
    [v2(http(), { url: '/a' }), 'resource_invalid paymentPayload.resource.url'],
    [v2(http(), { url: 'javascript:alert(1)' }), 'resource_scheme paymentPayload.resource.url'],
    [v2(http(), { url: 'mcp://tool/x' }), 'resource_scheme paymentPayload.resource.url'],
    [v2(http({ type: 'ws' })), 'input_type paymentPayload.extensions.bazaar.info.input.type'],
    [
      v2(http({ method: 'TRACE' })),
      'input_method paymentPayload.extensions.bazaar.info.input.method',
    ],
    [
      v2(http({ bodyType: 'json' })),
      'input_body_type paymentPayload.extensions.bazaar.info.input.bodyType',
    ],
    [
      v2(http({ method: 'POST', bodyType: 'xml' })),
      'input_body_type paymentPayload.extensions.bazaar.info.input.bodyType',
    ],
    [
      v2({ info: { input: { type: 'mcp', inputSchema: {} } } }),
      'tool_name paymentPayload.extensions.bazaar.info.input.toolName',
    ],
    [
      v2({ info: { input: { type: 'mcp', toolName: 'a\u202Eb', inputSchema: {} } } }),
      'tool_name paymentPayload.extensions.bazaar.info.input.toolName',
    ],
    [
      v2({ info: { input: { type: 'mcp', toolName: 'a' } } }),
      'tool_schema paymentPayload.extensions.bazaar.info.input.inputSchema',
    ],
    [
      v2({ info: { input: { type: 'mcp', toolName: 'a', inputSchema: {}, transport: 'ws' } } }),
      'tool_transport paymentPayload.extensions.bazaar.info.input.transport',
    ],
    [v1({ input: { type: 'ws' } }), 'input_type paymentRequirements.outputSchema.input.type'],
    [
      v1({ input: { type: 'http', method: 'GET' } }, { resource: 'report' }),
      'resource_invalid paymentRequirements.resource',
    ],
  ])('that cannot be listed is refused with the field that is wrong: %#', (read, fault) => {
    expect(faultOf(read)).toBe(fault);
  });

  it('loses what is wrong beside it, and is listed all the same', () => {
    const resource = {
      url: URL,
      description: 'x'.repeat(600),
      mimeType: 'json',
      serviceName: 'Ü',
      tags: 'a',
      iconUrl: 'javascript:alert(1)',
    };
    const output = { type: 'json', example: 'x'.repeat(5000) };
    const schema = { properties: { a: { $ref: 'https://elsewhere.example.com/s.json' } } };
    const read = v2({ info: { ...http().info, output }, schema }, resource);
    expect(notesOf(read)).toEqual([
      'description_cut',
      'example_left_out',
      'icon_left_out',
      'mime_type_left_out',
      'schema_left_out',
      'service_name_left_out',
      'tags_left_out',
    ]);
    expect(listingOf(read).bazaar).toEqual({ info: { ...http().info, output: { type: 'json' } } });
  });

  it('repeats nothing else of what was sent', () => {
    const secrets = { signature: 'SECRET', signedTransaction: 'SECRET', authorization: 'SECRET' };
    const read = v2(
      { ...http({ ...secrets }), ...secrets },
      { url: `${URL}&token=SECRET`, ...secrets },
      { payload: secrets, extensions: { bazaar: { ...http(), ...secrets }, permit: secrets } },
    );
    expect(JSON.stringify(listingOf(read))).not.toContain('SECRET');
  });
});
