import { describe, expect, it } from '@jest/globals';
import {
  type Asked,
  bodyUpto,
  bodyV1,
  bodyV2,
  changed,
  type Json,
  NOW,
  OTHER,
  type Path,
  PAYEE,
  permit2,
  refused,
  TOKEN,
} from '../../test/builders/facilitator/refusal.js';
import { MESSAGE_MAX_CHARACTERS } from '../protocol/diagnosis/diagnosis.js';
import { parsePayment, readEnvelope } from '../protocol/payment/parse-payment.js';
import { type Reason, REASONS } from '../protocol/reasons.js';
import { envelopeFinding } from './dto/malformed.js';
import { refusalOf } from './refusal.js';

const AUTH = 'paymentPayload.payload.authorization';
const PERMIT = 'paymentPayload.payload.permit2Authorization';
const V2 = bodyV2();
const P2 = bodyV2(permit2);
const V1 = bodyV1();
const UPTO = bodyUpto();

/** As sellers and buyers report them: what was sent, and where the answer has to point. */
const REPORTED: readonly (readonly [string, Json, Asked, Reason, string, RegExp])[] = [
  [
    'a V1 body at /v2',
    V1,
    { versions: [2] },
    'invalid_x402_version',
    'paymentPayload.x402Version',
    /expected 2, got 1\. .*\/v1/,
  ],
  [
    'a V2 body at /v1',
    V2,
    { versions: [1] },
    'invalid_x402_version',
    'paymentPayload.x402Version',
    /expected 1, got 2\. .*\/v2/,
  ],
  [
    'a version as text',
    changed(V2, 'paymentPayload.x402Version', '2'),
    {},
    'invalid_x402_version',
    'paymentPayload.x402Version',
    /1 or 2/,
  ],
  [
    'two versions in one body',
    changed(V2, 'x402Version', 1),
    {},
    'invalid_x402_version',
    'x402Version',
    /expected 2/,
  ],
  [
    'a scheme not served',
    changed(V2, 'paymentRequirements.scheme', 'permit'),
    {},
    'unsupported_scheme',
    'paymentRequirements.scheme',
    /expected exact.*got permit/,
  ],
  [
    'a V1 name of a network in V2',
    changed(V2, 'paymentRequirements.network', 'bsc'),
    {},
    'invalid_network',
    'paymentRequirements.network',
    /calls that network eip155:56/,
  ],
  [
    'a CAIP-2 name in V1',
    changed(V1, 'paymentRequirements.network', 'eip155:56'),
    {},
    'invalid_network',
    'paymentRequirements.network',
    /calls that network bsc/,
  ],
  [
    'a network not served',
    changed(V2, 'paymentRequirements.network', 'eip155:8453'),
    {},
    'invalid_network',
    'paymentRequirements.network',
    /expected eip155:56, got eip155:8453/,
  ],
  [
    'a price in dollars',
    changed(V2, 'paymentRequirements.amount', '0.01'),
    {},
    'invalid_payment_requirements',
    'paymentRequirements.amount',
    /atomic units/,
  ],
  [
    'V1’s name of the amount in V2',
    changed(
      changed(V2, 'paymentRequirements.amount', undefined),
      'paymentRequirements.maxAmountRequired',
      '1000',
    ),
    {},
    'invalid_payment_requirements',
    'paymentRequirements.amount',
    /In version 2 the field is amount/,
  ],
  [
    'a payee that is a name',
    changed(V2, 'paymentRequirements.payTo', 'shop.eth'),
    {},
    'invalid_payment_requirements',
    'paymentRequirements.payTo',
    /an address/,
  ],
  [
    'an asset that is a symbol',
    changed(V2, 'paymentRequirements.asset', 'USDC'),
    {},
    'invalid_payment_requirements',
    'paymentRequirements.asset',
    /an address/,
  ],
  [
    'no accepted in V2',
    changed(V2, 'paymentPayload.accepted', undefined),
    {},
    'invalid_payload',
    'paymentPayload.accepted',
    /repeats the accepted/,
  ],
  [
    'no payload',
    changed(V2, 'paymentPayload.payload', undefined),
    {},
    'invalid_payload',
    'paymentPayload.payload',
    /an object, got nothing/,
  ],
  [
    'a payload still encoded',
    changed(V2, 'paymentPayload.payload', 'eyJzaWduYXR1cmUiOiIweCJ9'),
    {},
    'invalid_payload',
    'paymentPayload.payload',
    /got text of 24 characters/,
  ],
  [
    'no signature',
    changed(V2, 'paymentPayload.payload.signature', undefined),
    {},
    'invalid_payload',
    'paymentPayload.payload.signature',
    /hexadecimal text, got nothing/,
  ],
  [
    'a value with a point',
    changed(V2, `${AUTH}.value`, '0.01'),
    {},
    'invalid_payload',
    `${AUTH}.value`,
    /whole number/,
  ],
  [
    'a Permit2 nonce that is no number',
    changed(P2, `${PERMIT}.nonce`, 'seven'),
    {},
    'invalid_payload',
    `${PERMIT}.nonce`,
    /whole number/,
  ],
  [
    'another network accepted',
    changed(V2, 'paymentPayload.accepted.network', 'eip155:97'),
    {},
    'invalid_exact_evm_network_mismatch',
    'paymentPayload.accepted.network',
    /expected eip155:56, got eip155:97/,
  ],
  [
    'no name of the token',
    changed(V2, 'paymentRequirements.extra.name', undefined),
    {},
    'invalid_exact_evm_missing_eip712_domain',
    'paymentRequirements.extra.name',
    /name and version/,
  ],
  [
    'no version of the token',
    changed(V2, 'paymentRequirements.extra.version', undefined),
    {},
    'invalid_exact_evm_missing_eip712_domain',
    'paymentRequirements.extra.version',
    /name and version/,
  ],
  [
    '`to` is not `payTo`',
    changed(V2, `${AUTH}.to`, OTHER),
    {},
    'invalid_exact_evm_recipient_mismatch',
    `${AUTH}.to`,
    new RegExp(`expected ${PAYEE}, got ${OTHER}`),
  ],
  [
    'wrong decimals',
    changed(V2, `${AUTH}.value`, '1000000000000000'),
    {},
    'invalid_exact_evm_payload_authorization_value_mismatch',
    `${AUTH}.value`,
    /expected 1000, the amount.*got 1000000000000000/,
  ],
  [
    'wrong decimals in V1',
    changed(V1, `${AUTH}.value`, '10'),
    {},
    'invalid_exact_evm_authorization_value',
    `${AUTH}.value`,
    /the maxAmountRequired/,
  ],
  [
    'expired',
    changed(V2, `${AUTH}.validBefore`, String(NOW - 60)),
    { reason: 'invalid_exact_evm_payload_authorization_valid_before' },
    'invalid_exact_evm_payload_authorization_valid_before',
    `${AUTH}.validBefore`,
    new RegExp(`at least .*got ${NOW - 60}`),
  ],
  [
    'a clock that is fast',
    changed(V2, `${AUTH}.validAfter`, String(NOW + 500)),
    { reason: 'invalid_exact_evm_payload_authorization_valid_after' },
    'invalid_exact_evm_payload_authorization_valid_after',
    `${AUTH}.validAfter`,
    /at most/,
  ],
  [
    'another chain id in the domain',
    V2,
    { reason: 'invalid_exact_evm_signature' },
    'invalid_exact_evm_signature',
    'paymentPayload.payload.signature',
    new RegExp(`chainId 56, verifyingContract ${TOKEN}`),
  ],
  [
    'a nonce that is a number',
    changed(V2, `${AUTH}.nonce`, '7'),
    { reason: 'invalid_exact_evm_signature' },
    'invalid_exact_evm_signature',
    `${AUTH}.nonce`,
    /32 bytes/,
  ],
  [
    'a wrong token name',
    V2,
    { reason: 'invalid_exact_evm_token_name_mismatch' },
    'invalid_exact_evm_token_name_mismatch',
    'paymentRequirements.extra.name',
    /Read name\(\)/,
  ],
  [
    'a token without EIP-3009',
    V2,
    { reason: 'invalid_exact_evm_eip3009_not_supported' },
    'invalid_exact_evm_eip3009_not_supported',
    'paymentRequirements.asset',
    /Permit2/,
  ],
  [
    'a poor payer',
    V2,
    { reason: 'invalid_exact_evm_insufficient_balance' },
    'invalid_exact_evm_insufficient_balance',
    `${AUTH}.from`,
    /1000 atomic units/,
  ],
  [
    'no approval of Permit2',
    P2,
    { reason: 'permit2_allowance_required' },
    'permit2_allowance_required',
    `${PERMIT}.from`,
    /approve\(0x0000/,
  ],
  [
    'another spender of Permit2',
    changed(P2, `${PERMIT}.spender`, OTHER),
    {},
    'invalid_permit2_spender',
    `${PERMIT}.spender`,
    /proxy/,
  ],
  [
    'a Permit2 signature in a domain with a version',
    P2,
    { reason: 'invalid_permit2_signature' },
    'invalid_permit2_signature',
    'paymentPayload.payload.signature',
    /without a version/,
  ],
];

describe('a refusal explains itself', () => {
  it.each(REPORTED)('%s', (_, body, asked, reason, path, message) => {
    const answer = refused(body, asked);
    expect(answer.reason).toBe(reason);
    expect(answer.extensions.diagnosis.path).toBe(path);
    expect(answer.message).toMatch(message);
    expect(answer.message.length).toBeLessThanOrEqual(MESSAGE_MAX_CHARACTERS);
  });

  it.each([
    [
      'a header instead of the payment',
      { paymentPayload: 'eyJ4', paymentRequirements: {} },
      /base64, then JSON/,
    ],
    [
      'the body of a first facilitator',
      { paymentHeader: 'eyJ4', paymentRequirements: {} },
      /base64, then JSON/,
    ],
    ['all of accepts', { paymentPayload: {}, paymentRequirements: [{}] }, /one entry of accepts/],
    ['a list', [], /a JSON object/],
  ])('%s is no request, and why', (_, body, fix) => {
    const { expected, fix: found = '' } = envelopeFinding(body) ?? {};
    expect(`${expected} ${found}`).toMatch(fix);
  });

  it('has fault and retry of every reason, and repeats nothing but values of its own forms', () => {
    const evil = '<b>call +1 900 0000</b>';
    for (const reason of Object.keys(REASONS) as Reason[]) {
      const body = changed(
        changed(V2, 'paymentRequirements.extra.name', evil),
        'paymentPayload.accepted.scheme',
        evil,
      );
      const { message, extensions } = refused(body, { reason });
      const { fault, retry } = REASONS[reason];
      expect(extensions.diagnosis).toMatchObject({
        fault,
        retry,
        docs: `docs/errors.md#${reason}`,
      });
      expect(JSON.stringify({ message, extensions })).not.toContain('900');
      expect(message.length).toBeLessThanOrEqual(MESSAGE_MAX_CHARACTERS);
    }
  });
});

describe('the message of a refusal', () => {
  const widest = (2n ** 256n - 1n).toString();
  const wide = (body: Json, amount: string): Json =>
    changed(changed(body, 'paymentRequirements.amount', widest), amount, widest);
  const bodies: readonly (readonly [string, Json])[] = [
    ['V1', changed(V1, 'paymentRequirements.maxAmountRequired', widest)],
    ['V2', wide(V2, `${AUTH}.value`)],
    ['Permit2', wide(P2, `${PERMIT}.permitted.amount`)],
    ['upto', wide(UPTO, `${PERMIT}.permitted.amount`)],
  ];

  it.each(bodies)('begins with the meaning and is whole, for every reason: %s', (_, body) => {
    for (const asked of Object.keys(REASONS) as Reason[]) {
      const { reason, message } = refused(body, { reason: asked });
      expect(message.startsWith(REASONS[reason].meaning)).toBe(true);
      expect(message).not.toMatch(/…$/);
    }
  });
});

describe('what is said of fields and what is read of them', () => {
  const bodies: readonly (readonly [string, Json])[] = [
    ['V1', V1],
    ['V2', V2],
    ['Permit2', P2],
    ['upto', UPTO],
  ];
  const paths = (value: unknown, at: Path = []): Path[] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, inner]) => [
          [...at, name],
          ...paths(inner, [...at, name]),
        ])
      : [];

  it.each(bodies)('are the same for every field of %s', (_, body) => {
    for (const path of paths(body)) {
      // Without one of these there is no request.
      if (path.length === 1) continue;
      for (const bad of [
        undefined,
        null,
        1.5,
        '',
        'x',
        '-',
        {},
        [],
        'x'.repeat(300),
        // No text can be made of it.
        { toString: 1, valueOf: 1 },
      ]) {
        const wrong = changed(body, path.join('.'), bad);
        const envelope = readEnvelope(wrong);
        if (envelope === undefined) throw new Error('no envelope');
        const parsed = parsePayment(envelope, [1, 2], (chainId) => chainId === 56);
        if (parsed.ok) continue;
        const request = { envelope, versions: [1, 2] as const, parsed };
        const { diagnosis } = refusalOf(parsed.reason, request, [56], NOW).extensions;
        const at = path.join('.');
        // Without it the payment counts as one by EIP-3009.
        if (at.endsWith('.permit2Authorization') && bad === undefined) continue;
        // Of an object without its fields the first field is what is missing.
        const isInside = diagnosis.path?.startsWith(`${at}.`) === true && typeof bad === 'object';
        expect(isInside ? at : diagnosis.path).toBe(at);
      }
    }
  });
});

describe('a signature that cannot be read', () => {
  const hex = '12'.repeat(65);
  const expected = '0x and two hexadecimal digits for each byte';
  const path = 'paymentPayload.payload.signature';

  it.each<[string, object, Reason]>([
    ['EIP-3009, V2', bodyV2(), 'invalid_exact_evm_signature'],
    ['EIP-3009, V1', bodyV1(), 'invalid_exact_evm_signature'],
    ['Permit2', bodyV2(permit2), 'invalid_permit2_signature'],
    ['upto', bodyUpto(), 'invalid_permit2_signature'],
  ])('differs from a missing one, and from one of another signer: %s', (_, body, reason) => {
    const refusedBody = (signature: string): object =>
      refused(changed(body as Json, path, signature), { reason }).extensions.diagnosis;
    expect(refusedBody(hex)).toMatchObject({ path, expected, got: 'text of 130 characters' });
    expect(refusedBody(`0x0x${hex}`)).toMatchObject({
      path,
      expected,
      got: 'text of 134 characters',
    });
    expect(refusedBody(`0x${hex.slice(2)}zz`)).toMatchObject({ got: 'text of 132 characters' });
    expect(refusedBody(`0x${hex}`)).toMatchObject({
      expected: expect.stringContaining('a signature by 0x'),
    });
  });

  it('is diagnosed with the correction of its prefix', () => {
    const refusedBody = (signature: string): string =>
      refused(changed(bodyV2(), path, signature), { reason: 'invalid_exact_evm_signature' })
        .message;
    expect(refusedBody(hex)).toMatch(/Put 0x before it\.$/);
    expect(refusedBody(`0x0x${hex}`)).toMatch(/It has its 0x twice\.$/);
  });
});

describe('a version that came as text', () => {
  it.each([
    ['paymentPayload.x402Version', 'the number 1 or 2'],
    ['x402Version', 'the number 2, as in the payload'],
  ])('is not what was expected, though it reads like it: %s', (path, expected) => {
    const { message, extensions } = refused(changed(bodyV2(), path, '2'));
    expect(extensions.diagnosis).toMatchObject({ path, expected, got: '2' });
    expect(message).toMatch(/It came as text: send it without quotes\.$/);
  });
});
