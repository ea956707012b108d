import { describe, expect, it } from '@jest/globals';
import { ApiKeyFileError, createApiKey, hashApiKey, parseApiKeys } from './api-key.js';

const HASH = 'ab'.repeat(32);
const fileOf = (...keys: readonly unknown[]): string => JSON.stringify({ version: 1, keys });

function problemOf(text: string): string {
  try {
    parseApiKeys(text);
  } catch (error) {
    if (error instanceof ApiKeyFileError) return error.message;
  }
  throw new Error('this file was taken');
}

describe('API keys', () => {
  it('have 256 random bits, and a record without the key that the file takes', () => {
    const { key, record } = createApiKey('shop', ['verify', 'settle']);
    expect(key).toMatch(/^x402_[\w-]{43}$/);
    expect(record).toEqual({
      id: 'shop',
      sha256: hashApiKey(key).toString('hex'),
      scopes: ['verify', 'settle'],
    });
    const known = { ...record, scopes: new Set(record.scopes), payees: new Set() };
    expect(parseApiKeys(fileOf(record))).toEqual([known]);
    expect(createApiKey('shop', ['verify']).key).not.toBe(key);
  });

  it('may share an id, but not a hash', () => {
    const one = { id: 'shop', sha256: HASH, scopes: ['verify'] };
    expect(parseApiKeys(fileOf(one, { ...one, sha256: 'cd'.repeat(32) }))).toHaveLength(2);
    expect(problemOf(fileOf(one, one))).toBe('API_KEYS_FILE: two keys have the same sha256');
  });

  it('see the payees of their record and of their tenant, in any letter case', () => {
    const [mine, shared] = [`0x${'Ab'.repeat(20)}`, `0x${'CD'.repeat(20)}`];
    const { record } = createApiKey('shop', ['history'], [mine]);
    expect(record.payees).toEqual([mine.toLowerCase()]);
    const text = JSON.stringify({
      version: 1,
      keys: [
        { ...record, tenant: 'acme' },
        { ...record, sha256: HASH },
      ],
      tenants: { acme: { payees: [shared, mine] }, other: { payees: [`0x${'ee'.repeat(20)}`] } },
    });
    expect(parseApiKeys(text).map(({ payees }) => [...payees])).toEqual([
      [mine.toLowerCase(), shared.toLowerCase()],
      [mine.toLowerCase()],
    ]);
  });

  it('are refused with a malformed tenant, whose name is not repeated', () => {
    const key = { id: 'shop', sha256: HASH, scopes: ['history'], tenant: 'x402_secret' };
    expect(problemOf(fileOf(key))).toBe('API_KEYS_FILE: keys.0.tenant is not among the tenants');
    const tenants = { x402_secret: { payees: ['0x'] }, 'x402 secret': { payees: [] } };
    const problem = problemOf(JSON.stringify({ version: 1, keys: [key], tenants }));
    expect(problem).toContain('tenants.*.payees.0 must be an address');
    expect(problem).not.toMatch(/x402.secret/);
  });

  it('see a hundred payees at most', () => {
    const payees = Array.from(
      { length: 101 },
      (_, index) => `0x${index.toString(16).padStart(40, '0')}`,
    );
    const key = { id: 'shop', sha256: HASH, scopes: ['history'] };
    expect(problemOf(fileOf({ ...key, payees }))).toContain('at most 100 addresses');
    const text = JSON.stringify({
      version: 1,
      keys: [{ ...key, payees: payees.slice(0, 60), tenant: 'acme' }],
      tenants: { acme: { payees: payees.slice(60) } },
    });
    expect(problemOf(text)).toBe(
      'API_KEYS_FILE: keys.0 has more than 100 payees, including those of its tenant',
    );
  });

  it.each([
    ['not JSON', '{', 'the file is not JSON'],
    ['a list', '[]', 'the file must be an object'],
    ['another version', '{"version":2,"keys":[]}', 'version must be 1'],
    ['of no list', '{"version":1,"keys":3}', 'keys must be a list'],
    ['without an id', fileOf({ sha256: HASH, scopes: ['verify'] }), 'keys.0.id must be text'],
    [
      'of an unknown scope',
      fileOf({ id: 'shop', sha256: HASH, scopes: ['x402_secret'] }),
      'keys.0.scopes.0 must be one of verify, settle, history, hub, admin, simulate',
    ],
    [
      'a malformed hash',
      fileOf({ id: 'shop', sha256: 'x402_secret', scopes: ['verify'] }),
      'keys.0.sha256 must be 64 lower-case hex digits',
    ],
    [
      'no scope',
      fileOf({ id: 'shop', sha256: HASH, scopes: [] }),
      'keys.0.scopes must name at least one scope',
    ],
    [
      'an id with other characters',
      fileOf({ id: 'a shop', sha256: HASH, scopes: ['verify'] }),
      'keys.0.id must be 1 to 64 letters, digits, "_" or "-"',
    ],
    [
      'a field that is not known',
      fileOf({ id: 'shop', sha256: HASH, scopes: ['verify'], x402_secret: '' }),
      'keys.0 has an unknown field',
    ],
  ])('are refused from a file that is %s, without repeating it', (_, text, problem) => {
    expect(problemOf(text)).toBe(`API_KEYS_FILE: ${problem}`);
    expect(problemOf(text)).not.toContain('x402_secret');
  });
});
