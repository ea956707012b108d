import { describe, expect, it } from '@jest/globals';
import { type Address, zeroAddress } from 'viem';
import type { WalletAsset } from '../../platform/config/wallet-assets.js';
import { decodeTransaction } from './decode-transaction.js';
import { decodeTypedData, type KnownContracts } from './decode-typed-data.js';
import { evaluate } from './evaluate.js';
import { eip3009Message, permit2Message } from './payment-message.js';
import { type Policy, policyText, readPolicy } from './policy.js';
import { readTypedData } from './read-typed-data.js';
import type { TypedData } from './spending.js';
import { withDigest } from './typed-data-digest.js';

const wallet: Address = `0x${'a1'.repeat(20)}`;
const payTo: Address = `0x${'b2'.repeat(20)}`;
const proxy: Address = `0x${'c3'.repeat(20)}`;
const address: Address = `0x${'d4'.repeat(20)}`;
const NOW = 1_800_000_000;
const token = {
  chainId: 97,
  address,
  symbol: 'USDX',
  decimals: 6,
  methods: ['eip3009', 'permit2'],
  eip712: { name: 'USD X', version: '1' },
} as const satisfies WalletAsset;
const known: KnownContracts = {
  token: (chainId, asked) => (chainId === 97 && asked === address ? token : undefined),
  permit2Proxy: (chainId) => (chainId === 97 ? proxy : undefined),
};
const terms = {
  from: wallet,
  payTo,
  amount: 1_000_000n,
  validAfter: 0n,
  nonce: 7n,
  deadline: BigInt(NOW + 300),
};
const asset = `eip155:97/${address}`;

function aPolicy(more: Record<string, unknown> = {}): Policy {
  const limits = [{ asset, perPayment: '1000000', budget: '10000000' }];
  const read = readPolicy({ limits, ...more }, 1);
  if (!read.ok) throw new Error(read.problem);
  return read.policy;
}

const decode = (typedData: TypedData) => decodeTypedData(withDigest(typedData), wallet, known);
const change = (data: TypedData, message: Record<string, unknown>): TypedData => ({
  ...data,
  message: { ...data.message, ...message },
});

describe('decoding typed data', () => {
  it.each([
    ['eip3009', eip3009Message(token, terms)],
    ['permit2', permit2Message(token, proxy, terms)],
  ])('tells a payment by %s', (method, message) => {
    expect(decode(message)).toMatchObject({
      kind: 'payment',
      spending: { method, asset: address, payTo, amount: 1_000_000n, deadline: NOW + 300 },
    });
  });

  it('takes numbers in any notation, and the same nonce as the same spending', () => {
    const plain = eip3009Message(token, terms);
    expect(decode(change(plain, { value: '0xf4240' }))).toEqual(decode(plain));
  });

  it('never signs for another account', () => {
    expect(decode(change(eip3009Message(token, terms), { from: payTo })).kind).toBe('unsignable');
  });

  const transfer = eip3009Message(token, terms);
  const permit = permit2Message(token, proxy, terms);
  const field = { name: 'extra', type: 'uint256' };
  it.each<[string, TypedData]>([
    ['another name', { ...transfer, domain: { ...transfer.domain, name: 'Other' } }],
    ['another chain', { ...transfer, domain: { ...transfer.domain, chainId: 1 } }],
    ['another spender', change(permit, { spender: payTo })],
    [
      'a further field',
      {
        ...change(transfer, { extra: '1' }),
        types: {
          ...transfer.types,
          TransferWithAuthorization: [
            ...(transfer.types['TransferWithAuthorization'] ?? []),
            field,
          ],
        },
      },
    ],
    [
      'the name Permit',
      { ...transfer, types: { Permit: [field] }, primaryType: 'Permit', message: { extra: '1' } },
    ],
  ])('takes no payment for one that has %s', (_what, data) => {
    expect(evaluate(decode(data), aPolicy(), NOW)).toMatchObject({
      refusal: { rule: 'scope_off' },
    });
    const result = evaluate(decode(data), aPolicy({ scopes: ['permit'] }), NOW);
    expect(result).toMatchObject({ allowed: true, scope: 'permit' });
  });

  it.each([
    [undefined],
    [{ types: {}, domain: {}, message: {} }],
    [{ types: { A: [1] }, domain: {}, message: {}, primaryType: 'A' }],
  ])('does not read %j', (sent) => {
    expect(readTypedData(sent)).toBeUndefined();
  });
});

describe('decoding a transaction', () => {
  const base = { chainId: 97, gasLimit: undefined, maxFeePerGas: undefined };
  const wanted = { ...base, maxPriorityFeePerGas: undefined, value: 0n, to: address };
  const word = (hex: string): string => hex.padStart(64, '0');
  const call = (data: `0x${string}`, value = 0n) =>
    decodeTransaction({ ...wanted, data, value }, known, 'id', NOW);

  it('tells native transfers and transfers of known tokens', () => {
    expect(call('0x', 5n)).toMatchObject({ spending: { asset: zeroAddress, amount: 5n } });
    const data = `0xa9059cbb${word(payTo.slice(2))}${word('ff')}` as const;
    expect(call(data)).toMatchObject({ kind: 'transfer', spending: { payTo, amount: 255n } });
    expect(call(`${data}00`)).toMatchObject({ scope: 'contract_call' });
    expect(call(data, 1n)).toMatchObject({ scope: 'contract_call' });
  });

  it('tells approvals', () => {
    expect(call(`0x095ea7b3${word('1')}${word('1')}`)).toMatchObject({ scope: 'approve' });
  });
});

describe('judging', () => {
  const pay = (amount: bigint, deadline = BigInt(NOW + 300)) =>
    decode(eip3009Message(token, { ...terms, amount, deadline }));
  const ruleOf = (policy: Policy, signable = pay(1_000_000n)) => {
    const result = evaluate(signable, policy, NOW);
    return result.allowed ? undefined : result.refusal.rule;
  };

  it('allows what is within the rules, to the last unit, and charges the budget', () => {
    const result = evaluate(pay(1_000_000n), aPolicy(), NOW);
    expect(result).toMatchObject({ allowed: true, charges: [{ budget: 10_000_000n }] });
    expect(ruleOf(aPolicy(), pay(1_000_001n))).toBe('per_payment');
  });

  it.each([
    ['kill_switch', { active: false }],
    ['asset_not_listed', { limits: [] }],
    ['payee_not_listed', { otherPayees: false }],
  ])('refuses by %s', (rule, more) => {
    expect(ruleOf(aPolicy(more))).toBe(rule);
  });

  it('refuses what is valid for longer than an hour', () => {
    expect(ruleOf(aPolicy(), pay(1n, BigInt(NOW + 3600)))).toBeUndefined();
    expect(ruleOf(aPolicy(), pay(1n, BigInt(NOW + 3601)))).toBe('validity');
    expect(ruleOf(aPolicy(), pay(1n, 2n ** 256n - 1n))).toBe('validity');
  });

  it('says which limit the owner is asked by, from the first unit above it', () => {
    const limit = { asset, perPayment: '1000000', budget: '10000000' };
    const asking = aPolicy({ limits: [{ ...limit, askAbove: '400000' }] });
    expect(evaluate(pay(400_000n), asking, NOW)).not.toHaveProperty('ask');
    expect(evaluate(pay(400_001n), asking, NOW)).toMatchObject({
      allowed: true,
      ask: { list: undefined, askAbove: 400_000n },
    });
    const list = { name: 'news', payees: [payTo], limits: [{ ...limit, askAbove: '0' }] };
    expect(evaluate(pay(1n), aPolicy({ payeeLists: [list] }), NOW)).toMatchObject({
      ask: { list: 'news', askAbove: 0n },
    });
    expect(ruleOf(asking, pay(1_000_001n))).toBe('per_payment');
  });

  it('charges a payee’s list besides the wallet', () => {
    const list = { name: 'news', payees: [payTo] };
    const limit = { asset, perPayment: '500000', budget: '900000' };
    const policy = aPolicy({ otherPayees: false, payeeLists: [{ ...list, limits: [limit] }] });
    expect(ruleOf(policy)).toBe('per_payment');
    expect(evaluate(pay(500_000n), policy, NOW)).toMatchObject({
      charges: [{ budget: 10_000_000n }, { list: 'news', budget: 900_000n, payees: [payTo] }],
    });
  });
});

describe('rules', () => {
  it.each([
    [{ windowHours: 3, scopes: ['personal_sign'], otherPayees: false }],
    [{ limits: [{ asset, perPayment: '9', budget: '9', askAbove: '9' }] }],
  ])('are the same after writing and reading: %j', (more) => {
    const policy = aPolicy(more);
    expect(readPolicy(policyText(policy), 1)).toEqual({ ok: true, policy });
  });

  it.each([
    [{}],
    [{ limits: [], more: 1 }],
    [{ limits: [{ asset, perPayment: '-1', budget: '1' }] }],
    [
      {
        limits: [
          { asset, perPayment: '1', budget: '1' },
          { asset, perPayment: '1', budget: '9' },
        ],
      },
    ],
    [{ limits: [{ asset, perPayment: '8', budget: '9', askAbove: '9' }] }],
    [{ limits: [], scopes: ['everything'] }],
    [{ limits: [], windowHours: 0 }],
  ])('are refused: %j', (sent) => {
    expect(readPolicy(sent, 1).ok).toBe(false);
  });
});
