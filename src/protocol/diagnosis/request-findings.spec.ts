import { describe, expect, it } from '@jest/globals';
import {
  anEip3009Payment,
  aPermit2Payment,
} from '../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { parsePayment, readEnvelope } from '../payment/parse-payment.js';
import { type JsonObject, TOKEN_NAME_MAX, TOKEN_VERSION_MAX } from '../payment/wire-values.js';
import type { Finding } from './finding.js';
import { envelopeFinding, requestFinding, type Served } from './request-findings.js';

const V1 = anEip3009Payment({ version: 1 }).body;
const V2 = anEip3009Payment().body;
const PERMIT2 = aPermit2Payment().body;
const SERVED: Served = { versions: [1, 2], chainIds: [56] };
const ADDRESS = 'an address: 0x and 40 hexadecimal digits';
const UNITS = 'atomic units: a whole number as decimal text';
const DECODE = 'Decode the payment header first: base64, then JSON, once each.';
const ONE = 'Send the one entry of accepts that was paid for.';
const REQUIREMENTS = 'paymentRequirements';
const PAYLOAD = 'paymentPayload';

/** A body with some fields of one of its parts changed. */
const changed = (body: JsonObject, part: string, changes: JsonObject): JsonObject => ({
  ...body,
  [part]: { ...(body[part] as JsonObject), ...changes },
});

/** The reason for which a body is refused, and what is found wrong with it. */
function refusalOf(body: JsonObject, served = SERVED): { reason: string; finding: unknown } {
  const envelope = readEnvelope(body);
  if (envelope === undefined) throw new Error('no envelope');
  const isServed = (chainId: number): boolean => served.chainIds.includes(chainId);
  const parsed = parsePayment(envelope, served.versions, isServed);
  if (parsed.ok) throw new Error('it was parsed');
  return { reason: parsed.reason, finding: requestFinding(parsed.reason, envelope, served) };
}

describe('what is wrong with a body that is no request', () => {
  const whole = 'a JSON object with the objects paymentPayload and paymentRequirements';

  it.each<[string, unknown, Finding]>([
    ['a list', [], { path: 'body', expected: whole, got: [] }],
    ['text', 'x', { path: 'body', expected: whole, got: 'x' }],
    ['nothing', undefined, { path: 'body', expected: whole, got: undefined }],
    ['null', null, { path: 'body', expected: whole, got: null }],
    ['empty', {}, { path: PAYLOAD, expected: 'an object', got: undefined }],
    [
      'an encoded payment',
      { paymentPayload: 'eyJ4' },
      { path: PAYLOAD, expected: 'an object', got: 'eyJ4', fix: DECODE },
    ],
    [
      'a payment header of the first facilitators',
      { paymentHeader: 'eyJ4', paymentRequirements: {} },
      { path: PAYLOAD, expected: 'an object', got: undefined, fix: DECODE },
    ],
    [
      'a list of payments',
      { paymentPayload: [{}], paymentRequirements: [{}] },
      { path: PAYLOAD, expected: 'an object', got: [{}] },
    ],
    [
      'every entry of accepts',
      { paymentPayload: {}, paymentRequirements: [{}] },
      { path: REQUIREMENTS, expected: 'an object', got: [{}], fix: ONE },
    ],
    [
      'no requirements',
      { paymentPayload: {} },
      { path: REQUIREMENTS, expected: 'an object', got: undefined },
    ],
    [
      'both parts',
      { paymentPayload: {}, paymentRequirements: {} },
      { path: 'body', expected: 'a payment', got: { paymentPayload: {}, paymentRequirements: {} } },
    ],
  ])('%s', (_, body, finding) => {
    expect(envelopeFinding(body)).toStrictEqual(finding);
  });
});

describe('what is wrong with the version', () => {
  const path = 'paymentPayload.x402Version';

  it.each<[string, JsonObject, Served['versions'], Finding]>([
    [
      'a later one',
      changed(V2, PAYLOAD, { x402Version: 3 }),
      [1, 2],
      { path, expected: '1 or 2', got: 3 },
    ],
    [
      'one as text',
      changed(V2, PAYLOAD, { x402Version: '2' }),
      [2],
      { path, expected: 'the number 2', got: '2', fix: 'It came as text: send it without quotes.' },
    ],
    [
      'V1 at /v2',
      V1,
      [2],
      { path, expected: '2', got: 1, fix: 'A payment of version 1 goes to /v1.' },
    ],
    [
      'V2 at /v1',
      V2,
      [1],
      { path, expected: '1', got: 2, fix: 'A payment of version 2 goes to /v2.' },
    ],
    [
      'another one around it',
      { ...V1, x402Version: 2 },
      [1, 2],
      { path: 'x402Version', expected: '1, as in the payload', got: 2 },
    ],
  ])('%s', (_, body, versions, finding) => {
    const refusal = refusalOf(body, { ...SERVED, versions });
    expect(refusal).toStrictEqual({ reason: 'invalid_x402_version', finding });
  });
});

describe('what is wrong with scheme and network', () => {
  const scheme = `${REQUIREMENTS}.scheme`;
  const network = `${REQUIREMENTS}.network`;

  it.each<[string, JsonObject, Finding]>([
    ['of V2', V2, { path: scheme, expected: 'exact or upto', got: 'permit' }],
    ['of V1', V1, { path: scheme, expected: 'exact', got: 'permit' }],
  ])('a scheme that is none %s', (_, body, finding) => {
    const sent = changed(body, REQUIREMENTS, { scheme: 'permit' });
    expect(refusalOf(sent)).toStrictEqual({ reason: 'unsupported_scheme', finding });
  });

  it('a scheme of the other version', () => {
    const { reason, finding } = refusalOf(changed(V1, REQUIREMENTS, { scheme: 'upto' }));
    expect(reason).toBe('unsupported_scheme');
    expect(finding).toStrictEqual({ path: scheme, expected: 'exact', got: 'upto' });
  });

  it.each<[string, JsonObject, string, readonly number[], string, string | undefined]>([
    ['not served', V2, 'eip155:8453', [56], 'eip155:56', undefined],
    ['not served, of two', V2, 'eip155:8453', [56, 97], 'eip155:56 or eip155:97', undefined],
    ['not served, in V1', V1, 'base', [56, 97], 'bsc or bsc-testnet', undefined],
    [
      'not served, where V1 names none',
      V1,
      'bsc',
      [31_338],
      'a network that /supported lists',
      undefined,
    ],
    [
      'not served, of four',
      V1,
      'bsc',
      [1, 14, 97, 143],
      'ethereum or flare or bsc-testnet or monad',
      undefined,
    ],
    [
      'not served, of five',
      V2,
      'eip155:2',
      [1, 14, 56, 97, 143],
      'a network that /supported lists',
      undefined,
    ],
    ['of another kind of chain', V2, 'solana:101', [56], 'eip155:56', undefined],
    [
      'by its V1 name in V2',
      V2,
      'bsc',
      [56],
      'eip155:56',
      'Version 2 calls that network eip155:56.',
    ],
    ['by its CAIP-2 name in V1', V1, 'eip155:56', [56], 'bsc', 'Version 1 calls that network bsc.'],
    ['by a CAIP-2 name V1 has no name for', V1, 'eip155:31338', [56], 'bsc', undefined],
  ])('a network %s', (_, body, got, chainIds, expected, fix) => {
    const refusal = refusalOf(changed(body, REQUIREMENTS, { network: got }), {
      ...SERVED,
      chainIds,
    });
    const finding = { path: network, expected, got, ...(fix !== undefined && { fix }) };
    expect(refusal).toStrictEqual({ reason: 'invalid_network', finding });
  });
});

describe('what is wrong with the requirements', () => {
  it.each<[JsonObject, JsonObject, Omit<Finding, 'path'> & { readonly path: string }]>([
    [V2, { scheme: 7 }, { path: 'scheme', expected: 'the name of a scheme', got: 7 }],
    [V2, { network: 56 }, { path: 'network', expected: 'the name of a network', got: 56 }],
    [V2, { asset: '0x1' }, { path: 'asset', expected: `${ADDRESS} of the token`, got: '0x1' }],
    [V2, { payTo: null }, { path: 'payTo', expected: ADDRESS, got: null }],
    [V2, { amount: '0.01' }, { path: 'amount', expected: UNITS, got: '0.01' }],
    [V2, { amount: 1.5 }, { path: 'amount', expected: UNITS, got: 1.5 }],
    [V2, { scheme: 'upto', amount: 400 }, { path: 'amount', expected: UNITS, got: 400 }],
    [V2, { scheme: 'upto', amount: '-1' }, { path: 'amount', expected: UNITS, got: '-1' }],
    [
      V2,
      { amount: undefined, maxAmountRequired: '1000' },
      { path: 'amount', expected: UNITS, got: undefined, fix: 'Version 2 names it amount.' },
    ],
    [
      V1,
      { maxAmountRequired: undefined, amount: '1000' },
      {
        path: 'maxAmountRequired',
        expected: UNITS,
        got: undefined,
        fix: 'Version 1 names it maxAmountRequired.',
      },
    ],
    [
      V2,
      { extra: { name: 'n'.repeat(TOKEN_NAME_MAX + 1) } },
      { path: 'extra.name', expected: 'at most 256 characters', got: 'n'.repeat(257) },
    ],
    [
      V2,
      { extra: { name: 7, version: '1'.repeat(TOKEN_VERSION_MAX + 1) } },
      { path: 'extra.version', expected: 'at most 64 characters', got: '1'.repeat(65) },
    ],
    // The first in the order in which they are read.
    [V2, { payTo: 'shop', amount: 'x' }, { path: 'payTo', expected: ADDRESS, got: 'shop' }],
    [V2, { payTo: 'shop', extra: null }, { path: 'payTo', expected: ADDRESS, got: 'shop' }],
  ])('%#', (body, changes, { path, ...finding }) => {
    expect(refusalOf(changed(body, REQUIREMENTS, changes))).toStrictEqual({
      reason: 'invalid_payment_requirements',
      finding: { ...finding, path: `${REQUIREMENTS}.${path}` },
    });
  });
});

describe('what is wrong with the payload', () => {
  const authorization = (PERMIT2[PAYLOAD] as { payload: JsonObject }).payload;
  const object = 'an object';
  const signature = 'the signature as hexadecimal text';

  it.each<[string, JsonObject, JsonObject, Finding]>([
    [
      'nothing accepted',
      V2,
      { accepted: 'exact' },
      {
        path: 'accepted',
        expected: object,
        got: 'exact',
        fix: 'Version 2 repeats the accepted requirements in the payment.',
      },
    ],
    ['none', V1, { payload: undefined }, { path: 'payload', expected: object, got: undefined }],
    ['encoded', V2, { payload: 'eyJ' }, { path: 'payload', expected: object, got: 'eyJ' }],
    [
      'a signature that is no text',
      V2,
      { payload: { signature: 7 } },
      { path: 'payload.signature', expected: signature, got: 7 },
    ],
    [
      'no authorization',
      V2,
      { payload: { signature: '0x' } },
      { path: 'payload.authorization', expected: object, got: undefined },
    ],
    [
      'an authorization by Permit2 in V1',
      V1,
      { payload: authorization },
      { path: 'payload.authorization', expected: object, got: undefined },
    ],
    [
      'an empty authorization by Permit2',
      V2,
      { payload: { signature: '0x', permit2Authorization: {} } },
      { path: 'payload.permit2Authorization.permitted', expected: object, got: undefined },
    ],
  ])('%s', (_, body, changes, { path, ...finding }) => {
    expect(refusalOf(changed(body, PAYLOAD, changes))).toStrictEqual({
      reason: 'invalid_payload',
      finding: { ...finding, path: `${PAYLOAD}.${path}` },
    });
  });

  it('the shape of its scheme', () => {
    const exact = changed(V2, REQUIREMENTS, { scheme: 'upto' });
    expect(refusalOf(exact)).toMatchObject({
      reason: 'unsupported_payload_type',
      finding: { path: `${PAYLOAD}.payload.permit2Authorization`, expected: object },
    });
  });
});

describe('a reason that comes after parsing', () => {
  it('has no place in a request as such', () => {
    const envelope = readEnvelope(V2);
    if (envelope === undefined) throw new Error('no envelope');
    expect(requestFinding('invalid_exact_evm_signature', envelope, SERVED)).toBeUndefined();
    expect(requestFinding('duplicate_settlement', envelope, SERVED)).toBeUndefined();
  });
});
