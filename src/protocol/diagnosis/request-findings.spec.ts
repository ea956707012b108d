import { describe, expect, it } from '@jest/globals';
import { anEip3009Payment } from '../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { parsePayment, readEnvelope } from '../payment/parse-payment.js';
import type { JsonObject } from '../payment/wire-values.js';
import type { Finding } from './finding.js';
import { requestFinding, type Served } from './request-findings.js';

const V1 = anEip3009Payment({ version: 1 }).body;
const V2 = anEip3009Payment().body;
const SERVED: Served = { versions: [1, 2], chainIds: [56] };
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

describe('what is wrong with the network', () => {
  const network = `${REQUIREMENTS}.network`;

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

describe('a reason that comes after parsing', () => {
  it('has no place in a request as such', () => {
    const envelope = readEnvelope(V2);
    if (envelope === undefined) throw new Error('no envelope');
    expect(requestFinding('invalid_exact_evm_signature', envelope, SERVED)).toBeUndefined();
    expect(requestFinding('duplicate_settlement', envelope, SERVED)).toBeUndefined();
  });
});
