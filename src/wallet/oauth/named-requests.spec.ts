import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { keepBounded, useOurNames, withOurNames } from './named-requests.js';

const NAMES = {
  publicUrl: 'https://w.example',
  scopes: ['wallet:read', 'wallet:pay'],
} as const;
const RESOURCE = 'https://w.example/mcp';

const named = (text: string): string => {
  const parameters = new URLSearchParams(text);
  useOurNames(parameters, NAMES);
  return decodeURIComponent(parameters.toString().replaceAll('+', ' '));
};

describe('the resource that a request names', () => {
  it.each([
    'https://w.example/mcp',
    'https://w.example/mcp/',
    'https://w.example',
    'https://w.example/',
    'https://W.example:443/mcp',
    'HTTPS://w.example',
  ])('is the one there is: %s', (resource) => {
    expect(named(`resource=${encodeURIComponent(resource)}`)).toBe(`resource=${RESOURCE}`);
  });

  it.each([
    'https://elsewhere.example/mcp',
    'http://w.example/mcp',
    'https://w.example/mcp/more',
    'https://w.example:8443/',
    'https://w.example.evil.example/mcp',
    'w.example',
    'https://w.example/mcp?x=1',
    'https://w.example/mcp#x',
  ])('is another and stays so: %s', (resource) => {
    expect(named(`resource=${encodeURIComponent(resource)}`)).toBe(`resource=${resource}`);
  });

  it('is left to the server where it is empty, and named once where it is named in two ways', () => {
    expect(named('state=s&resource=')).toBe('state=s');
    expect(named(`resource=https://w.example/&resource=${RESOURCE}`)).toBe(`resource=${RESOURCE}`);
  });
});

describe('the scopes that a request names', () => {
  it('are those there are', () => {
    expect(named('scope=openid wallet:read offline_access')).toBe('scope=wallet:read');
    expect(named('scope=openid email profile&state=s')).toBe('state=s');
    expect(named('state=s')).toBe('state=s');
  });
});

describe('a form', () => {
  const formOf = async (text: string): Promise<string> => {
    const request = Readable.from([Buffer.from(text.slice(0, 5)), Buffer.from(text.slice(5))]);
    const headers = { 'content-length': String(text.length), 'content-type': 'x' };
    const read = withOurNames(
      Object.assign(request, { headers }) as never as IncomingMessage,
      NAMES,
    );
    expect(read.headers).toEqual({ 'content-type': 'x', 'transfer-encoding': 'chunked' });
    const chunks: Buffer[] = [];
    for await (const chunk of read.iterator({ destroyOnReturn: false }))
      chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  };

  it('is read by our names', async () => {
    expect(await formOf('code=a%2Bb&resource=https%3A%2F%2Fw.example%2F')).toBe(
      `code=a%2Bb&resource=${encodeURIComponent(RESOURCE)}`,
    );
  });

  it('has no field that is longer than any may be', async () => {
    const read = new URLSearchParams(
      await formOf(`resource=https://x/${'/'.repeat(50_000)}a&code=c`),
    );
    expect(read.get('resource')).toHaveLength(2048);
    expect(read.get('code')).toBe('c');
  });

  it('is read to its bound', async () => {
    await expect(formOf(`code=${'x'.repeat(60_000)}`)).rejects.toThrow(/too large/);
  });
});

describe('what is kept of a request that opens the consent page', () => {
  it('is what is read there', () => {
    const parameters = new URLSearchParams(
      'response_type=code&state=a&login_hint=somebody&state=b&id_token_hint=x&code_challenge=c&x=y',
    );
    expect(keepBounded(parameters)).toBeUndefined();
    expect(parameters.toString()).toBe('response_type=code&state=a&state=b&code_challenge=c');
  });

  it.each([
    ['state', 2048],
    ['client_id', 1024],
    ['redirect_uri', 512],
    ['code_challenge', 128],
    ['prompt', 64],
  ])('is short: %s', (name, most) => {
    expect(keepBounded(new URLSearchParams({ [name]: 'x'.repeat(most) }))).toBeUndefined();
    const problem = keepBounded(new URLSearchParams({ [name]: 'x'.repeat(most + 1) }));
    expect(problem).toBe(`${name} must be at most ${most} characters`);
  });
});
