import { describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import {
  anAcceptedPayment,
  anEip3009Authorization,
  anUndeployedAuthorization,
  aPermit2Authorization,
} from '../../../../test/builders/protocol/payment/accepted-payment.js';
import {
  SENDER,
  STRANGER,
} from '../../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { addressWord, uintWord } from '../../evm/abi-words.js';
import type { Eip3009Authorization } from '../../evm/authorization.js';
import type { CallOutcome } from '../../evm/chain-reader.js';
import { DEFAULT_SCHEME_CONTRACTS, PERMIT2 } from '../../evm/contracts.js';
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  type ReceiptLog,
  TRANSFER_TOPIC,
} from '../../evm/logs.js';
import type { AcceptedPayment } from '../../payment/accepted-payment.js';
import {
  authorizationNonceOf,
  callOf,
  chosenContractOf,
  gasCapOf,
  inFlightKindOf,
  isExpiredAt,
  settlementOf,
  transferOf,
} from '../../payment/payment-facts.js';
import type { Reason } from '../../reasons.js';
import { actionOf, methodNamed } from '../registry.js';

const PERMIT = {
  value: 1000n,
  deadline: 5n,
  r: `0x${'01'.repeat(32)}`,
  s: `0x${'02'.repeat(32)}`,
  v: 28,
} as const;
const eip3009 = anAcceptedPayment();
const undeployed = anAcceptedPayment({ authorization: anUndeployedAuthorization() });
const permit2 = anAcceptedPayment({ authorization: aPermit2Authorization() });
const sponsored = anAcceptedPayment({
  authorization: aPermit2Authorization({ sponsoredPermit: PERMIT }),
});

describe('a payment of the exact scheme', () => {
  // The token wants a time below the deadline, Permit2 one that is not above it.
  it.each<[string, AcceptedPayment, number, boolean]>([
    ['EIP-3009, a second before', eip3009, 1_999_999_999, false],
    ['EIP-3009, at its deadline', eip3009, 2_000_000_000, true],
    ['Permit2, at its deadline', permit2, 2_000_000_000, false],
    ['Permit2, a second later', permit2, 2_000_000_001, true],
  ])('is refused by a block of this time: %s', (_, payment, blockTime, expected) => {
    expect(isExpiredAt(payment, blockTime)).toBe(expected);
  });

  it.each([
    ['EIP-3009', eip3009, 'e', 'eip3009', BigInt(`0x${'ab'.repeat(32)}`)],
    ['Permit2', permit2, 'p', 'permit2', 77n],
    ['a sponsored permit', sponsored, 's', 'permit2 sponsored', 77n],
  ])('with %s counts in flight, and costs gas, by its kind', (_, payment, kind, profile, nonce) => {
    const { authorization } = payment;
    expect(inFlightKindOf(payment)).toBe(kind);
    expect(actionOf(authorization).gasProfileOf(authorization)).toBe(profile);
    expect(authorizationNonceOf(payment)).toBe(nonce);
    expect(gasCapOf(payment, 500_000n)).toBe(500_000n);
  });

  it('of a wallet that is to be made goes alone, with gas for that, and names whom it calls', () => {
    const { authorization } = undeployed;
    const action = actionOf(authorization);
    const { deployment } = authorization as Eip3009Authorization;
    expect([action.mayShare(authorization), chosenContractOf(undeployed)]).toEqual([
      false,
      deployment?.factory,
    ]);
    expect(gasCapOf(undeployed, 300_000n)).toBe(800_000n);
    expect(action.gasProfileOf(authorization)).toBe(`eip3009 by ${deployment?.factory}`);
    for (const { authorization: other } of [eip3009, permit2, sponsored]) {
      expect(actionOf(other).mayShare(other)).toBe(true);
    }
    expect([eip3009, permit2].map(chosenContractOf)).toEqual([undefined, undefined]);
  });

  it('is simulated as the call, and the transfer, that it will be', () => {
    for (const payment of [eip3009, permit2, sponsored, undeployed]) {
      expect(settlementOf(payment, SENDER, 7n)).toEqual({
        call: callOf(payment),
        sender: SENDER,
        gas: 7n,
        token: payment.asset,
        payer: payment.authorization.from,
        payTo: payment.payTo,
        amount: payment.amount,
      });
    }
  });

  it('needs an approval on chain unless it needs none, or brings it', () => {
    const needed = [eip3009, permit2, sponsored].map(({ authorization, asset }) =>
      actionOf(authorization).allowanceCall?.(authorization, asset),
    );
    expect(needed.map((call) => call !== undefined)).toEqual([false, true, false]);
    expect(needed[1]?.data).toContain(addressWord(PERMIT2));
  });
});

describe('the evidence of a payment', () => {
  const topic = (address: Address): Hex => `0x${addressWord(address)}`;
  const transfer = (logIndex: number): ReceiptLog => ({
    address: eip3009.asset,
    data: `0x${uintWord(eip3009.amount)}`,
    logIndex,
    topics: [TRANSFER_TOPIC, topic(eip3009.authorization.from), topic(eip3009.payTo)],
  });
  const used = (event: Hex, address = eip3009.asset): ReceiptLog => ({
    address,
    data: '0x',
    logIndex: 0,
    topics: [event, topic(eip3009.authorization.from), `0x${'ab'.repeat(32)}`],
  });
  const evidenceOf = (
    payment: AcceptedPayment,
    logs: readonly ReceiptLog[],
    taken: readonly number[] = [],
  ): number | undefined => {
    const { authorization } = payment;
    const { evidence } = actionOf(authorization);
    if (evidence.by !== 'logs') throw new TypeError('not shown by logs');
    return evidence.logOf(transferOf(payment), authorization, logs, new Set(taken))?.logIndex;
  };

  it.each([
    ['use and transfer', [used(AUTHORIZATION_USED_TOPIC), transfer(1)], 1],
    ['a transfer alone', [transfer(1)], undefined],
    ['a use alone', [used(AUTHORIZATION_USED_TOPIC)], undefined],
    // It was taken back, and the payer paid the same otherwise.
    ['a cancellation and a transfer', [used(AUTHORIZATION_CANCELED_TOPIC), transfer(1)], undefined],
    ['a use in another token', [used(AUTHORIZATION_USED_TOPIC, STRANGER), transfer(1)], undefined],
  ])('by EIP-3009 is %s', (_, logs, expected) => {
    expect(evidenceOf(eip3009, logs)).toBe(expected);
  });

  it('by Permit2 is the first transfer that no other settlement has claimed', () => {
    expect(evidenceOf(permit2, [transfer(1), transfer(2)])).toBe(1);
    expect(evidenceOf(permit2, [transfer(1), transfer(2)], [1])).toBe(2);
    expect(evidenceOf(permit2, [transfer(1)], [1])).toBeUndefined();
  });
});

describe('an authorization that a transaction presents', () => {
  const presentedBy = (payment: AcceptedPayment, target = callOf(payment).to) => {
    const { data } = callOf(payment);
    return actionOf(payment.authorization).presentedIn(target, data, DEFAULT_SCHEME_CONTRACTS);
  };

  it('is read back from its calldata, also of a contract wallet', () => {
    const authorization = anEip3009Authorization({ signature: '0x1234' });
    const payment = anAcceptedPayment({ authorization });
    const { asset: token, payTo: to, amount } = payment;
    expect(presentedBy(payment)).toEqual({
      method: 'eip3009',
      token,
      from: authorization.from,
      to,
      amount,
      nonce: authorizationNonceOf(payment),
    });
  });

  it('is none of the proxy when it is another contract that is called', () => {
    expect(presentedBy(permit2, STRANGER)).toBeUndefined();
    // Any token may be called; which one it is decides.
    expect(presentedBy(eip3009, STRANGER)?.token).toBe(STRANGER);
  });
});

describe('what the chain says of an authorization', () => {
  const stateOf = (payment: AcceptedPayment, outcome: CallOutcome): boolean | undefined => {
    const { authorization, asset } = payment;
    const method = methodNamed(authorization.method);
    const nonce = authorizationNonceOf(payment);
    const ref = { method: method.name, asset, payer: authorization.from, nonce };
    return method.readState(outcome, ref);
  };
  const word = (value: bigint): CallOutcome => ({
    status: 'returned',
    data: `0x${uintWord(value)}`,
  });

  it.each<[string, AcceptedPayment, CallOutcome, boolean | undefined]>([
    ['EIP-3009, yes', eip3009, word(1n), true],
    ['EIP-3009, no', eip3009, word(0n), false],
    ['EIP-3009, neither', eip3009, word(2n), undefined],
    ['EIP-3009, nothing', eip3009, { status: 'returned', data: '0x' }, undefined],
    ['EIP-3009, a revert', eip3009, { status: 'reverted', data: undefined }, undefined],
    // 77 is bit 77 of its word.
    ['Permit2, its bit', permit2, word(1n << 77n), true],
    ['Permit2, all bits but its own', permit2, word((2n ** 256n - 1n) ^ (1n << 77n)), false],
    ['Permit2, no word', permit2, { status: 'halted' }, undefined],
  ])('%s', (_, payment, outcome, expected) => {
    expect(stateOf(payment, outcome)).toBe(expected);
  });

  type UsePossibility = 'yes' | 'if_payer_has_code' | 'no';
  it.each<[Reason, UsePossibility, UsePossibility]>([
    // The checks before that of the nonce look at what its own execution has changed.
    ['permit2_insufficient_balance', 'no', 'yes'],
    ['permit2_allowance_required', 'no', 'yes'],
    ['permit2_deadline_expired', 'no', 'yes'],
    ['erc20_approval_tx_nonce_mismatch', 'no', 'yes'],
    ['invalid_exact_evm_payload_authorization_valid_before', 'yes', 'no'],
    ['invalid_exact_evm_signature', 'if_payer_has_code', 'no'],
    ['invalid_permit2_signature', 'no', 'if_payer_has_code'],
    ['invalid_exact_evm_recipient_mismatch', 'no', 'no'],
    ['permit2_amount_mismatch', 'no', 'no'],
  ])('may be behind the refusal %s: EIP-3009 %s, Permit2 %s', (reason, ofEip3009, ofPermit2) => {
    expect(actionOf(eip3009.authorization).mayMeanUsed(reason)).toBe(ofEip3009);
    expect(actionOf(permit2.authorization).mayMeanUsed(reason)).toBe(ofPermit2);
  });
});
