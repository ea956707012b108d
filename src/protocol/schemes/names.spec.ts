import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { allMethods, allSchemes } from './registry.js';

const ROOMS = ['settlement', 'facilitator', 'platform/chain'];
/** The payloads of the API description, and its examples, which have to be of some scheme. */
const EXAMPLES =
  /^src\/facilitator\/(dto\/(channel-)?payload\.dto|dto\/payment-request\.dto|openapi\/(examples|facilitator\.openapi))\.ts$/;
/** Advice to sellers, and payments that are made up: they are of some scheme. No payment of a buyer comes there. */
const ADVICE = /^src\/facilitator\/(assets|doctor|warm-up)\//;
const TESTS = /\.(spec|builder)\.ts$/;

/**
 * A scheme as a literal or as a part of one of its reasons, a transfer method in any way: `'exact'`,
 * `invalid_exact_evm_signature`, `permit2Proxy`, `EIP-3009`.
 */
function names(): RegExp {
  const ofSchemes = allSchemes().flatMap(({ name }) => [`['"\`]${name}['"\`]`, `${name}_`]);
  const ofMethods = allMethods().map(({ name }) => name.replace(/^([a-z]+)(\d)/, '$1-?$2'));
  return new RegExp([...ofSchemes, ...ofMethods].join('|'), 'i');
}

const files = ROOMS.flatMap((room) =>
  readdirSync(join('src', room), { recursive: true, encoding: 'utf8' })
    .map((file) => `src/${room}/${file}`.replaceAll('\\', '/'))
    .filter((path) => /\.(ts|lua)$/.test(path) && !TESTS.test(path))
    .filter((path) => !EXAMPLES.test(path) && !ADVICE.test(path)),
);

describe('the engine, the HTTP API and the chain', () => {
  it('are looked through', () => {
    expect(files.length).toBeGreaterThan(150);
    expect(files).toContain('src/settlement/ledger/scripts/lib/ledger.lua');
  });

  it.each([
    ["=== 'exact'", 'wrong'],
    ["reason: 'invalid_exact_evm_signature'", 'wrong'],
    ['chain.permit2Proxy', 'wrong'],
    ['PERMIT2_NONCE', 'wrong'],
    ['// as EIP-3009 says', 'wrong'],
    ['exactly this payment', 'fine'],
    ['// the exact amount', 'fine'],
  ])('would see %s', (text, verdict) => {
    expect(names().test(text) ? 'wrong' : 'fine').toBe(verdict);
  });

  it('name no scheme and no transfer method: they ask the registry', () => {
    const pattern = names();
    const found = files.flatMap((path) =>
      readFileSync(path, 'utf8')
        .split('\n')
        .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1} ${line}`] : [])),
    );
    expect(found).toEqual([]);
  });
});
