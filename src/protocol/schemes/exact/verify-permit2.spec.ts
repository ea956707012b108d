import { describe, expect, it } from '@jest/globals';
import {
  aContext,
  AMOUNT,
  aPermit2Payment,
  JudgingChain,
  NOW,
  PAYEE,
  PAYER,
  type Sent,
  signatureOf,
  sponsoredBy,
  STRANGER,
  TOKEN,
} from '../../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { ChainUnavailableError } from '../../errors.js';
import { EXACT_PERMIT2_PROXY } from '../../evm/contracts.js';
import type { JsonObject } from '../../payment/wire-values.js';
import { verifyWitness } from '../permit2/verify-witness.js';
import type { Verdict, VerifyScope } from '../verdict.js';
import { EXACT_WITNESS } from './exact-permit2.js';

const verdictOf = (
  sent: Sent = {},
  chain = new JudgingChain(),
  scope: VerifyScope = 'full',
): Promise<Verdict> => {
  const { payment, claim } = aPermit2Payment(sent);
  return verifyWitness(EXACT_WITNESS, payment, claim, aContext(chain), scope);
};

const reasonOf = (verdict: Verdict): string => (verdict.isValid ? 'valid' : verdict.reason);
const deadline = (seconds: number): JsonObject => ({ deadline: String(NOW + seconds) });
const permitted = (amount: bigint, token = TOKEN): JsonObject => ({
  permitted: { token, amount: String(amount) },
});
const witness = (to: string, validAfter = 0): JsonObject => ({
  witness: { to, validAfter: String(validAfter) },
});

const UNSIGNED = 'invalid_permit2_signature';

describe('a Permit2 payment', () => {
  it.each<[string, Sent, string]>([
    ['good', {}, 'valid'],
    ['of another scheme', { accepted: { scheme: 'upto' } }, 'unsupported_payload_type'],
    [
      'for another network',
      { accepted: { network: 'eip155:97' } },
      'invalid_exact_evm_network_mismatch',
    ],
    ['for another spender', { signed: { spender: STRANGER } }, 'invalid_permit2_spender'],
    ['to another payee', { signed: witness(STRANGER) }, 'invalid_permit2_recipient_mismatch'],
    ['with five seconds left', { signed: deadline(5) }, 'permit2_deadline_expired'],
    ['with six seconds left', { signed: deadline(6) }, 'valid'],
    ['that becomes good in a second', { signed: witness(PAYEE, NOW + 1) }, 'permit2_not_yet_valid'],
    ['that is good from now on', { signed: witness(PAYEE, NOW) }, 'valid'],
    ['of one unit less', { signed: permitted(AMOUNT - 1n) }, 'permit2_amount_mismatch'],
    ['of one unit more', { signed: permitted(AMOUNT + 1n) }, 'permit2_amount_mismatch'],
    ['of another token', { signed: permitted(AMOUNT, STRANGER) }, 'permit2_token_mismatch'],
    ['signed for something else', { signature: signatureOf(`0x${'00'.repeat(32)}`) }, UNSIGNED],
    ['without a signature', { signature: '0x' }, UNSIGNED],
    ['with v as 0', { v: '00' }, 'valid'],
    ['of a nonce beyond a uint256', { signed: { nonce: String(2n ** 256n) } }, UNSIGNED],
    ['of a negative nonce', { signed: { nonce: '-1' } }, UNSIGNED],
    // It needs no domain of the token.
    ['without a token name', { requirements: { extra: undefined } }, 'valid'],
    // The other way round than EIP-3009: terms are named before the signature.
    [
      'to another payee, unsigned',
      { signed: witness(STRANGER), signature: '0x' },
      'invalid_permit2_recipient_mismatch',
    ],
    [
      'late, and too small',
      { signed: { ...deadline(0), ...permitted(1n) } },
      'permit2_deadline_expired',
    ],
  ])('%s', async (_, sent, expected) => {
    const chain = new JudgingChain();
    expect(reasonOf(await verdictOf(sent, chain))).toBe(expected);
    expect(chain.simulated).toHaveLength(expected === 'valid' ? 1 : 0);
  });

  it.each<[string, (chain: JudgingChain) => void, string]>([
    ['no token', (chain) => chain.code.delete(TOKEN), 'asset_not_deployed_contract'],
    ['no proxy', (chain) => chain.code.delete(EXACT_PERMIT2_PROXY), 'permit2_proxy_not_deployed'],
  ])(
    'is refused where there is %s, whatever a call to an address without code returns',
    async (_, change, expected) => {
      const chain = new JudgingChain();
      change(chain);
      expect(reasonOf(await verdictOf({}, chain))).toBe(expected);
    },
  );

  it.each<[string, (chain: JudgingChain) => void, string]>([
    ['a poor payer', (chain) => (chain.balance = AMOUNT - 1n), 'permit2_insufficient_balance'],
    ['no approval', (chain) => (chain.allowance = 0n), 'permit2_allowance_required'],
    ['a small approval', (chain) => (chain.allowance -= 1n), 'permit2_allowance_required'],
    ['no visible cause', () => undefined, 'permit2_simulation_failed'],
  ])(
    'that would not pay for %s is refused by the state of the chain',
    async (_, change, reason) => {
      const chain = new JudgingChain();
      chain.effects = [{ status: 'reverted', data: undefined }];
      change(chain);
      expect(await verdictOf({}, chain)).toMatchObject({
        isValid: false,
        reason,
        isFromChainState: true,
      });
    },
  );

  it('that fails at one look and pays at the next says nothing about the payment', async () => {
    const chain = new JudgingChain();
    chain.effects = [{ status: 'unpaid' }, { status: 'paid', gasUsed: undefined }];
    await expect(verdictOf({}, chain)).rejects.toThrow(ChainUnavailableError);
  });

  it.each([
    ['accepts it', `0x${'1626ba7e'.padEnd(64, '0')}`, 'valid'],
    ['does not', `0x${'00'.repeat(32)}`, UNSIGNED],
  ] as const)(
    'of a payer with code is judged by the wallet, which %s',
    async (_, data, expected) => {
      const chain = new JudgingChain();
      chain.code.add(PAYER);
      chain.walletSays = { status: 'returned', data };
      const verdict = await verdictOf({ v: '00' }, chain);
      expect(reasonOf(verdict)).toBe(expected);
      // Every byte as the wallet signed it.
      if (verdict.isValid) expect(verdict.authorization.signature.slice(-2)).toBe('00');
    },
  );

  it.each<[string, Sent, string]>([
    ['late', { signed: deadline(-1000) }, 'valid'],
    ['early', { signed: witness(PAYEE, NOW + 1000) }, 'valid'],
    ['of another amount', { signed: permitted(1n) }, 'permit2_amount_mismatch'],
    ['signed for something else', { signature: '0x' }, UNSIGNED],
    ['with a permit that is late', { extensions: sponsoredBy({ deadline: '1' }) }, 'valid'],
  ])('has its terms judged without time or simulation: %s', async (_, sent, expected) => {
    const chain = new JudgingChain();
    chain.effects = [{ status: 'unpaid' }];
    expect(reasonOf(await verdictOf(sent, chain, 'terms'))).toBe(expected);
    expect(chain.simulated).toEqual([]);
  });
});

describe('a Permit2 payment that brings its approval', () => {
  it('is sent with it, so that no approval on chain is needed', async () => {
    const chain = new JudgingChain();
    chain.allowance = 0n;
    expect(await verdictOf({ extensions: sponsoredBy() }, chain)).toMatchObject({
      isValid: true,
      authorization: {
        sponsoredPermit: { value: AMOUNT, v: 27, r: `0x${'0c'.repeat(32)}` },
      },
    });
    expect(chain.simulated).toHaveLength(1);
  });

  it.each<[string, JsonObject, string]>([
    ['of another payer', { from: STRANGER }, 'eip2612_from_mismatch'],
    ['of another token', { asset: STRANGER }, 'eip2612_asset_mismatch'],
    ['to another spender', { spender: STRANGER }, 'eip2612_spender_not_permit2'],
    ['that is late', { deadline: String(NOW + 5) }, 'eip2612_deadline_expired'],
    ['that is no permit', { version: 'one' }, 'invalid_eip2612_extension_format'],
  ])('%s is refused, and costs no simulation', async (_, changes, expected) => {
    const chain = new JudgingChain();
    expect(reasonOf(await verdictOf({ extensions: sponsoredBy(changes) }, chain))).toBe(expected);
    expect(chain.simulated).toEqual([]);
  });

  it('is named after the signature of the payment itself', async () => {
    const extensions = sponsoredBy({ from: STRANGER });
    expect(reasonOf(await verdictOf({ extensions, signature: '0x' }))).toBe(UNSIGNED);
  });

  it('is judged by the state of the chain when its signature cannot be presented', async () => {
    const extensions = sponsoredBy({ signature: '0x1234' });
    const chain = new JudgingChain();
    chain.allowance = 0n;
    expect(await verdictOf({ extensions }, chain)).toMatchObject({
      isValid: false,
      reason: 'permit2_allowance_required',
      isFromChainState: true,
    });
  });

  it('is no permit when one of its fields is missing: then the approval on chain counts', async () => {
    const chain = new JudgingChain();
    const verdict = await verdictOf({ extensions: sponsoredBy({ nonce: 0 }) }, chain);
    expect(verdict).toMatchObject({ authorization: { sponsoredPermit: undefined } });
  });
});
