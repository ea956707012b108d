import { describe, expect, it } from '@jest/globals';
import { type Hex, serializeErc6492Signature } from 'viem';
import { asEip3009Authorization } from '../evm/authorization.js';
import { identityOf, type PaymentIdentity, settlementIdOf, termsOf } from './identity.js';
import { parsePayment } from './parse-payment.js';
import type { Eip3009Claim, Payment, Permit2Claim } from './payment.js';

const FROM = '0x857b06519E91e3A54538791bDbb0E22373e36b66';
const TO = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
const ASSET = '0x8d0D000Ee44948FC98c9B98A4FA4921476f08B0d';
const NONCE = `0x${'0A'.repeat(32)}`;

function aPayment(
  authorization: Record<string, unknown> = {},
  more: { signature?: unknown; requirements?: Record<string, unknown> } = {},
): Payment {
  const requirements = {
    scheme: 'exact',
    network: 'eip155:56',
    amount: '1000',
    asset: ASSET,
    payTo: TO,
    extra: { name: 'USD', version: '1' },
    ...more.requirements,
  };
  const parsed = parsePayment(
    {
      x402Version: 2,
      paymentPayload: {
        x402Version: 2,
        accepted: requirements,
        payload: {
          signature: more.signature ?? `0x${'11'.repeat(65)}`,
          authorization: {
            from: FROM,
            to: TO,
            value: '1000',
            validAfter: '0',
            validBefore: '2000000000',
            nonce: NONCE,
            ...authorization,
          },
        },
      },
      paymentRequirements: requirements,
    },
    [2],
    () => true,
  );
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.payment;
}

function aPermit2Payment(nonce: unknown): Payment {
  const payment = aPayment();
  const { claim } = payment;
  if (claim.method !== 'eip3009') throw new Error('not the claim that was made');
  const permit: Permit2Claim = {
    method: 'permit2',
    from: '0x857b06519e91e3a54538791bdbb0e22373e36b66',
    token: payment.requirements.asset,
    amount: 1000n,
    spender: '0x402085c248eea27d92e8b30b2c58ed07f9e20001',
    nonce: BigInt(nonce as string),
    deadline: 2_000_000_000n,
    witnessTo: payment.requirements.payTo,
    witnessValidAfter: 0n,
    signature: claim.signature,
    sponsoredPermit: undefined,
  };
  return { ...payment, claim: permit };
}

function known(identity: PaymentIdentity | undefined): PaymentIdentity {
  if (identity === undefined) throw new Error('no identity');
  return identity;
}

describe('identityOf', () => {
  const base = known(identityOf(aPayment()));

  it('is the same in every spelling', () => {
    const spelled = identityOf(
      aPayment(
        { from: FROM.toLowerCase(), nonce: NONCE.toLowerCase(), value: '0x3e8' },
        { requirements: { asset: ASSET.toLowerCase() } },
      ),
    );
    expect(spelled).toEqual(base);
    for (const nonce of ['1', '01', '0x1']) {
      expect(identityOf(aPermit2Payment(nonce))).toEqual(identityOf(aPermit2Payment('1')));
    }
  });

  it.each([
    ['payer', aPayment({ from: TO })],
    ['nonce', aPayment({ nonce: `0x${'0b'.repeat(32)}` })],
    ['token', aPayment({}, { requirements: { asset: TO } })],
    ['chain', aPayment({}, { requirements: { network: 'eip155:97' } })],
    ['method', aPermit2Payment(NONCE)],
  ])('names another authorization for another %s', (_, payment) => {
    expect(identityOf(payment)?.authorizationId).not.toBe(base.authorizationId);
  });

  it('names the same authorization, with other terms, for another amount or payee', () => {
    for (const other of [aPayment({ value: '1' }), aPayment({ to: FROM })]) {
      const identity = identityOf(other);
      expect(identity?.authorizationId).toBe(base.authorizationId);
      expect(identity?.termsTag).not.toBe(base.termsTag);
    }
  });

  it('keeps terms and changes the signed tag for another signature or domain', () => {
    const others = [
      aPayment({}, { signature: `0x${'12'.repeat(65)}` }),
      aPayment({}, { requirements: { extra: { name: 'Other', version: '1' } } }),
    ];
    for (const other of others) {
      const identity = identityOf(other);
      expect(identity?.termsTag).toBe(base.termsTag);
      expect(identity?.signedTag).not.toBe(base.signedTag);
    }
  });

  it('is that of the signature, whatever wrapper it comes in', () => {
    const signature = `0x${'11'.repeat(65)}` as const;
    const wrap = (address: Hex, data: Hex): Hex =>
      serializeErc6492Signature({ address, data, signature });
    for (const wrapper of [wrap(TO, '0x'), wrap(FROM, '0x1234')]) {
      expect(identityOf(aPayment({}, { signature: wrapper }))).toEqual(base);
    }
    // One that cannot be opened has nothing in it.
    const broken = identityOf(aPayment({}, { signature: `${signature}${'6492'.repeat(16)}` }));
    expect(broken?.signedTag).not.toBe(base.signedTag);
    expect(broken?.termsTag).toBe(base.termsTag);
  });

  it('names a claim by what is claimed and by who claims', () => {
    const id = settlementIdOf(base, 'a.1');
    expect(settlementIdOf(base, 'a.1')).toBe(id);
    expect(settlementIdOf(base, 'a.2')).not.toBe(id);
    expect(settlementIdOf({ ...base, termsTag: 'other' }, 'a.1')).not.toBe(id);
  });

  it('tells the same of an authorization as of the payment that carried it', () => {
    const { requirements, claim } = aPayment();
    if (claim.signature === undefined) throw new Error('no claim');
    const authorization = asEip3009Authorization(claim as Eip3009Claim, claim.signature);
    if (authorization === undefined) throw new Error('no authorization');
    const { authorizationId, termsTag } = base;
    const ownTerms = termsOf(requirements.chainId, requirements.asset, authorization);
    expect(ownTerms).toEqual({ authorizationId, termsTag });
  });

  it('has no name for what cannot have been signed', () => {
    expect(identityOf(aPayment({ nonce: '0x12' }))).toBeUndefined();
    expect(identityOf(aPayment({ from: 'me' }))).toBeUndefined();
    expect(identityOf(aPermit2Payment(`0x1${'0'.repeat(64)}`))).toBeUndefined();
  });

  it('takes domains that are no text without converting them', () => {
    const odd = { name: { toString: 5 }, version: [] };
    expect(identityOf(aPayment({}, { requirements: { extra: odd } }))).toBeDefined();
  });

  it('is whole: 43 URL-safe characters of 256 bits each', () => {
    for (const name of Object.values(base)) expect(name).toMatch(/^[\w-]{43}$/);
  });
});
