import { describe, expect, it } from '@jest/globals';
import { declareDiscoveryExtension } from '@x402/extensions/bazaar';
import { validate } from './validation.js';

const TOKEN = `0x${'c3'.repeat(20)}`;
const rules = { allow: new Set<string>(), isKnownAsset: (asset: string) => asset.includes(TOKEN) };
const offer = { scheme: 'exact', network: 'eip155:56', amount: '1', asset: TOKEN };
const resource = { url: 'https://shop.example.com/a' };
const input = { type: 'http', method: 'GET' };

const of = (body: unknown) => validate(body, rules);

describe('a declaration, asked about beforehand', () => {
  it('of the stock library would be listed', () => {
    const extensions = declareDiscoveryExtension({ input: { city: 'berlin' } });
    expect(of({ x402Version: 2, resource, accepts: [offer], extensions })).toMatchObject({
      valid: true,
      code: 'would_be_listed',
      x402Version: 2,
      notes: ['method_assumed'],
      listing: { resource: 'https://shop.example.com/a', method: 'GET' },
    });
  });

  it('of V1 is read from its offers', () => {
    const accepts = [
      { ...offer, network: 'bsc', resource: '/a', outputSchema: { input } },
      { ...offer, network: 'bsc', resource: resource.url, outputSchema: { input } },
    ];
    expect(of({ x402Version: 1, accepts })).toMatchObject({ valid: true, x402Version: 1 });
    expect(of({ x402Version: 1, accepts: accepts.slice(0, 1) })).toMatchObject({
      valid: false,
      code: 'resource_invalid',
      path: 'accepts[0].resource',
    });
    expect(of({ x402Version: 1, accepts: [offer] })).toMatchObject({ code: 'not_declared' });
  });

  it('names the field that is wrong', () => {
    const wrong = { bazaar: { info: { input: { ...input, method: 'TRACE' } } } };
    expect(of({ x402Version: 2, resource, accepts: [offer], extensions: wrong })).toEqual({
      valid: false,
      code: 'input_method',
      message: expect.any(String),
      x402Version: 2,
      path: 'extensions.bazaar.info.input.method',
      expected: 'GET, HEAD, DELETE, POST, PUT or PATCH',
    });
  });

  it.each<[string, object, string | undefined, string | undefined]>([
    [
      'a method that is none of its enum',
      {
        properties: { input: { properties: { method: { enum: ['POST'] } } } },
      },
      'info_not_of_schema',
      'extensions.bazaar.info.input.method',
    ],
    [
      'a schema of the body',
      { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      'info_not_of_schema',
      'extensions.bazaar.info.id',
    ],
    ['a schema that fits', { type: 'object', required: ['input'] }, undefined, undefined],
    ['a schema elsewhere', { $ref: 'https://a.example/' }, 'schema_left_out', undefined],
  ])('is listed with %s, and says so', (_, schema, note, path) => {
    const extensions = { bazaar: { info: { input }, schema } };
    const answer = of({ x402Version: 2, resource, accepts: [offer], extensions });
    expect(answer).toMatchObject({ valid: true, notes: note === undefined ? [] : [note] });
    expect(answer?.path).toBe(path);
  });

  it('of the stock library fits its own schema, and reports a missing one', () => {
    const notesOf = (extensions: unknown) =>
      of({ x402Version: 2, resource, accepts: [offer], extensions })?.notes;
    const body = declareDiscoveryExtension({
      bodyType: 'json',
      input: { city: 'berlin' },
      inputSchema: { properties: { city: { type: 'string' } }, required: ['city'] },
      output: { example: { degrees: 7 } },
    });
    expect(notesOf(body)).not.toContain('info_not_of_schema');
    expect(notesOf({ bazaar: { info: { input } } })).toEqual(['schema_missing']);
  });

  it('needs an offer in a token that is known', () => {
    const extensions = { bazaar: { info: { input } } };
    const other = { ...offer, asset: `0x${'ee'.repeat(20)}` };
    expect(of({ x402Version: 2, resource, accepts: [other], extensions })).toMatchObject({
      valid: false,
      code: 'asset_not_known',
      path: 'accepts[0].asset',
    });
    expect(of({ x402Version: 2, resource, accepts: [other, offer], extensions })).toMatchObject({
      valid: true,
    });
    expect(of({ x402Version: 2, resource, accepts: [], extensions })).toMatchObject({
      valid: false,
      code: 'asset_not_known',
      path: 'accepts',
    });
  });

  it.each([undefined, null, [], 'text', {}, { accepts: {} }, { x402Version: 3, accepts: [] }])(
    'is not found in %j',
    (body) => {
      expect(of(body)).toBeUndefined();
    },
  );
});
