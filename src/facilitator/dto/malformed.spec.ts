import { describe, expect, it } from '@jest/globals';
import { bodyUpto } from '../../../test/builders/facilitator/refusal.js';
import { bodyOf as channelBodyOf } from '../../../test/builders/protocol/schemes/batch-settlement/channel.js';
import {
  anEip3009Payment,
  aPermit2Payment,
} from '../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { SeededRandom } from '../../../test/support/seeded-random.js';
import type { Finding } from '../../protocol/diagnosis/finding.js';
import { parsePayment, readEnvelope } from '../../protocol/payment/parse-payment.js';
import {
  type JsonObject,
  TOKEN_NAME_MAX,
  TOKEN_VERSION_MAX,
} from '../../protocol/payment/wire-values.js';
import { envelopeFinding, malformedFields, malformedFinding } from './malformed.js';

const V1 = anEip3009Payment({ version: 1 }).body;
const V2 = anEip3009Payment().body;
const PERMIT2 = aPermit2Payment().body;
const UPTO: JsonObject = bodyUpto();
const ADDRESS = 'an address: 0x and 40 hexadecimal digits';
const UNITS = 'atomic units: a whole number as decimal text';
const DECODE = 'Decode the payment header first: base64, then JSON, once each.';
const ONE = 'Send the one entry of accepts that was paid for.';
const REQUIREMENTS = 'paymentRequirements';
const PAYLOAD = 'paymentPayload';

/** Of a payload that lacks what tells its type: no field of it is malformed. */
const OTHER_TYPE = 'invalid_batch_settlement_evm_payload_type';

/** Bodies of `batch-settlement` that are settled: of each type, and a deposit by each method. */
async function channelBodies(): Promise<readonly JsonObject[]> {
  const deposits = await Promise.all([
    channelBodyOf('eip3009'),
    channelBodyOf('permit2'),
    channelBodyOf('permit2', { extra: { assetTransferMethod: 'permit2' } }),
  ]);
  const { payload, requirements } = await channelBodyOf('refund');
  const sent = payload['payload'] as JsonObject;
  const { channelConfig: channel, voucher } = sent as Record<string, JsonObject>;
  const row = {
    voucher: { channel, maxClaimableAmount: '400' },
    signature: voucher?.['signature'],
    totalClaimed: '300',
  };
  const { receiver, token } = channel ?? {};
  const asked: readonly JsonObject[] = [
    { type: 'claim', claims: [row, row], claimAuthorizerSignature: '0x12' },
    { type: 'settle', receiver, token },
    { ...sent, amount: '10', refundNonce: '3', claims: [row] },
  ];
  return [
    ...deposits.map((body) => ({
      paymentPayload: body.payload,
      paymentRequirements: body.requirements,
    })),
    ...asked.map((inner) => ({
      paymentPayload: { ...payload, payload: inner },
      paymentRequirements: requirements,
    })),
  ];
}

/** A body with some fields of one of its parts changed. */
const changed = (body: JsonObject, part: string, changes: JsonObject): JsonObject => ({
  ...body,
  [part]: { ...(body[part] as JsonObject), ...changes },
});

/** What the parser says of a body where every chain is served. */
function reasonOf(body: JsonObject): string | undefined {
  const envelope = readEnvelope(body);
  if (envelope === undefined) return 'no envelope';
  const parsed = parsePayment(envelope, [1, 2], () => true);
  return parsed.ok ? undefined : parsed.reason;
}

/** The reason for which a body is refused, and what is found wrong with it. */
function refusalOf(body: JsonObject): { reason: string; finding: unknown } {
  const envelope = readEnvelope(body);
  if (envelope === undefined) throw new Error('no envelope');
  const parsed = parsePayment(envelope, [1, 2], () => true);
  if (parsed.ok) throw new Error('it was parsed');
  return { reason: parsed.reason, finding: malformedFinding(parsed.reason, body) };
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
  ])('%s', (_, body, finding) => {
    expect(envelopeFinding(body)).toStrictEqual(finding);
  });
});

describe('what is wrong with the scheme', () => {
  it.each<[string, JsonObject, Finding]>([
    [
      'of V2',
      V2,
      {
        path: 'paymentRequirements.scheme',
        expected: 'exact or upto or batch-settlement',
        got: 'permit',
      },
    ],
    ['of V1', V1, { path: 'paymentRequirements.scheme', expected: 'exact', got: 'permit' }],
  ])('an unknown scheme %s', (_, body, finding) => {
    const sent = changed(body, REQUIREMENTS, { scheme: 'permit' });
    expect(refusalOf(sent)).toStrictEqual({ reason: 'unsupported_scheme', finding });
  });

  it('a scheme of the other version', () => {
    const { reason, finding } = refusalOf(changed(V1, REQUIREMENTS, { scheme: 'upto' }));
    expect(reason).toBe('unsupported_scheme');
    expect(finding).toStrictEqual({
      path: 'paymentRequirements.scheme',
      expected: 'exact',
      got: 'upto',
    });
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
      { path: 'amount', expected: UNITS, got: undefined, fix: 'In version 2 the field is amount.' },
    ],
    [
      V1,
      { maxAmountRequired: undefined, amount: '1000' },
      {
        path: 'maxAmountRequired',
        expected: UNITS,
        got: undefined,
        fix: 'In version 1 the field is maxAmountRequired.',
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
      { path: 'payload.permit2Authorization.from', expected: ADDRESS, got: undefined },
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

describe('what is wrong with a payload of upto', () => {
  const address = 'an address: 0x and 40 hexadecimal digits';
  const integer = 'a whole number as decimal text';

  /** The good body with another value at a place. */
  function withValue(path: string, value: unknown): JsonObject {
    const copy = structuredClone(UPTO);
    const names = `paymentPayload.${path}`.split('.');
    const last = names.pop() ?? '';
    let at = copy as Record<string, unknown>;
    for (const name of names) at = at[name] as Record<string, unknown>;
    at[last] = value;
    return copy;
  }

  it.each<[string, unknown, string]>([
    ['payload', null, 'an object'],
    ['payload.signature', 7, 'the signature as hexadecimal text'],
    ['payload.permit2Authorization', [], 'an object'],
    ['payload.permit2Authorization.permitted', 'x', 'an object'],
    ['payload.permit2Authorization.witness', undefined, 'an object'],
    ['payload.permit2Authorization.from', '0x1', address],
    ['payload.permit2Authorization.spender', 1, address],
    ['payload.permit2Authorization.permitted.token', 'USD', address],
    ['payload.permit2Authorization.witness.to', undefined, address],
    ['payload.permit2Authorization.witness.facilitator', undefined, address],
    ['payload.permit2Authorization.witness.facilitator', `0x${'c3'.repeat(20)}0`, address],
    ['payload.permit2Authorization.permitted.amount', '1.5', integer],
    ['payload.permit2Authorization.nonce', 'seven', integer],
    ['payload.permit2Authorization.deadline', '', integer],
    ['payload.permit2Authorization.witness.validAfter', '0x', integer],
    // A whole number, but no text.
    ['payload.permit2Authorization.permitted.amount', 1000, 'text'],
    ['payload.permit2Authorization.nonce', 77, 'text'],
    ['payload.permit2Authorization.deadline', 99, 'text'],
    ['payload.permit2Authorization.witness.validAfter', 0, 'text'],
  ])('is broken by %s of %j', (path, value, expected) => {
    expect(refusalOf(withValue(path, value)).finding).toStrictEqual({
      path: `paymentPayload.${path}`,
      expected,
      got: value,
    });
  });
});

describe('the classes and the parser', () => {
  type Names = readonly string[];
  const address = `0x${'Ab'.repeat(20)}`;
  const values: readonly unknown[] = [
    undefined,
    null,
    true,
    0,
    1,
    2,
    -1,
    1.5,
    2 ** 60,
    '',
    ' ',
    'x',
    '0x',
    '0x1f',
    '-5',
    '007',
    '9'.repeat(78),
    '1'.repeat(101),
    'n'.repeat(65),
    'n'.repeat(300),
    [],
    [{}],
    {},
    // It cannot be converted to text, and its constructor is null.
    { toString: 1, valueOf: 1, constructor: null },
    { length: 3 },
    '\u0000',
    'exact',
    'upto',
    'bsc',
    'eip155:56',
    'eip155:056',
    address,
    address.replace('0x', '0X'),
    `0x${'ab'.repeat(32)}`,
  ];
  /** The part of a body in which a reason is found. */
  const places: Readonly<Record<string, RegExp>> = {
    'no envelope': /^(paymentPayload|paymentRequirements)$/,
    invalid_x402_version: /^(paymentPayload\.)?x402Version$/,
    unsupported_scheme: /^paymentRequirements\.scheme$/,
    invalid_network: /^paymentRequirements\.network$/,
    invalid_payment_requirements: /^paymentRequirements\./,
    invalid_payload: /^paymentPayload\./,
    unsupported_payload_type: /^paymentPayload\./,
  };

  const pathsIn = (value: unknown, at: Names = []): Names[] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, inner]) => [
          [...at, name],
          ...pathsIn(inner, [...at, name]),
        ])
      : [];

  function mutate(body: JsonObject, path: Names, value: unknown): void {
    let at = body as Record<string, unknown>;
    for (const name of path.slice(0, -1)) at = at[name] as Record<string, unknown>;
    const last = path.at(-1) ?? '';
    if (value === undefined) Reflect.deleteProperty(at, last);
    else at[last] = structuredClone(value);
  }

  /** The bodies on which the two differ, and how often each reason was seen. */
  function differencesOn(bodies: readonly JsonObject[], times: number) {
    const random = new SeededRandom(402);
    const seen = new Map<string, number>();
    const differing: unknown[] = [];
    for (let time = 0; time < times; time += 1) {
      // No two places of it may be one object.
      const body = JSON.parse(JSON.stringify(random.pick(bodies))) as JsonObject;
      const mutated: string[] = [];
      for (let left = random.roll() < 0.6 ? 1 : random.below(4) + 1; left > 0; left -= 1) {
        const path = random.pick(pathsIn(body));
        mutate(body, path, values[random.below(values.length)]);
        mutated.push(path.join('.'));
      }
      const reason = reasonOf(body);
      const found = malformedFields(body);
      seen.set(reason ?? 'none', (seen.get(reason ?? 'none') ?? 0) + 1);
      const place = places[reason ?? ''];
      const path = found.find((one) => place?.test(one.path))?.path;
      // It was made wrong there, or what was changed decides what has to be there.
      const isThere = mutated.some(
        (one) =>
          path === one ||
          path?.startsWith(`${one}.`) === true ||
          // Rows of a claim are judged as a whole.
          (path?.endsWith('.claims') === true && one.startsWith(path)) ||
          /(scheme|x402Version|payload|permit2Authorization|type|assetTransferMethod)$/.test(one),
      );
      const agree =
        reason === undefined
          ? found.length === 0
          : reason === OTHER_TYPE || (path !== undefined && isThere);
      if (!agree) differing.push({ mutated, reason, found });
    }
    return { differing, seen };
  }

  it('agree on 10,000 bodies: what is malformed, and where', () => {
    const { differing, seen } = differencesOn([V1, V2, PERMIT2, UPTO], 10_000);
    expect(differing).toEqual([]);
    expect([...seen.keys()].sort()).toEqual([...Object.keys(places), 'none'].sort());
    for (const count of seen.values()) expect(count).toBeGreaterThan(100);
  });

  it('agree on 3,000 bodies about channels', async () => {
    const { differing, seen } = differencesOn(await channelBodies(), 3000);
    expect(differing).toEqual([]);
    for (const reason of ['none', 'invalid_payload', OTHER_TYPE]) {
      expect(seen.get(reason)).toBeGreaterThan(100);
    }
  });

  it('look at no more of a body of junk than they name', () => {
    let looks = 0;
    const counted = <T extends object>(junk: T): T =>
      new Proxy(junk, {
        get: (of, name) => {
          looks += 1;
          return Reflect.get(of, name) as unknown;
        },
        getOwnPropertyDescriptor: (of, name) => {
          looks += 1;
          return Reflect.getOwnPropertyDescriptor(of, name);
        },
      });
    const fields = Array.from({ length: 5000 }, (_, at) => [`f${at}`, [[at]]]);
    const junk = {
      paymentPayload: { x402Version: 2, accepted: {}, payload: counted(Array(20_000).fill({})) },
      paymentRequirements: counted(Object.fromEntries(fields) as JsonObject),
    };
    expect(malformedFields(junk).length).toBeLessThan(30);
    expect(looks).toBeLessThan(100);
  });
});
