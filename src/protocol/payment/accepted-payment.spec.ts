import { describe, expect, it } from '@jest/globals';
import {
  anAcceptedPayment,
  anUndeployedAuthorization,
  aPermit2Authorization,
} from '../../../test/builders/protocol/payment/accepted-payment.js';
import { decodePayment, encodePayment } from './accepted-payment-codec.js';
import { boundedDeadlineOf } from './payment-facts.js';

const sponsoredPermit = {
  value: 2n ** 200n,
  deadline: 5n,
  r: `0x${'01'.repeat(32)}`,
  s: `0x${'02'.repeat(32)}`,
  v: 28,
} as const;

describe('encodePayment and decodePayment', () => {
  it.each([
    ['EIP-3009', anAcceptedPayment({ amount: 2n ** 255n })],
    ['a wallet to be made', anAcceptedPayment({ authorization: anUndeployedAuthorization() })],
    ['no token domain', anAcceptedPayment({ tokenName: undefined, tokenVersion: undefined })],
    ['bytes behind its call', anAcceptedPayment({ dataSuffix: '0x1234' })],
    ['Permit2', anAcceptedPayment({ authorization: aPermit2Authorization() })],
    [
      'a sponsored permit',
      anAcceptedPayment({ authorization: aPermit2Authorization({ sponsoredPermit }) }),
    ],
  ])('keep every field of a payment with %s', (_, payment) => {
    expect(decodePayment(encodePayment(payment))).toEqual(payment);
  });
});

describe('boundedDeadlineOf', () => {
  it('bounds deadlines that no number holds', () => {
    const authorization = aPermit2Authorization({ deadline: 2n ** 256n - 1n });
    expect(boundedDeadlineOf(anAcceptedPayment({ authorization }))).toBe(99_999_999_999);
  });
});
