import { describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import {
  aContext,
  AMOUNT,
  anEip3009Payment,
  JudgingChain,
  NOW,
  PAYEE,
  PAYER,
  SENDER,
  type Sent,
  signatureOf,
  STRANGER,
  TOKEN,
  wrapped,
} from '../../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { ChainUnavailableError } from '../../errors.js';
import type { CallOutcome, Effect } from '../../evm/chain-reader.js';
import type { Verdict, VerifyScope } from '../verdict.js';
import { verifyEip3009 } from './exact-eip3009.js';

const verdictOf = (
  sent: Sent = {},
  chain = new JudgingChain(),
  scope: VerifyScope = 'full',
): Promise<Verdict> => {
  const { payment, claim } = anEip3009Payment(sent);
  return verifyEip3009(payment, claim, aContext(chain), scope);
};

const reasonOf = (verdict: Verdict): string => (verdict.isValid ? 'valid' : verdict.reason);

const MISMATCH = 'invalid_exact_evm_network_mismatch';
const NO_DOMAIN = 'invalid_exact_evm_missing_eip712_domain';
const UNSIGNED = 'invalid_exact_evm_signature';
const TOO_LATE = 'invalid_exact_evm_payload_authorization_valid_before';
const TOO_EARLY = 'invalid_exact_evm_payload_authorization_valid_after';
const VALUE_V2 = 'invalid_exact_evm_payload_authorization_value_mismatch';

describe('an EIP-3009 payment', () => {
  it.each([1, 2] as const)('of V%i is good, with what the chain will be shown', async (version) => {
    expect(await verdictOf({ version })).toMatchObject({
      isValid: true,
      payerHasCode: false,
      authorization: { method: 'eip3009', from: PAYER, to: PAYEE, value: AMOUNT },
    });
  });

  it.each<[string, Sent, string]>([
    ['of another scheme', { accepted: { scheme: 'upto' } }, 'invalid_exact_evm_scheme'],
    ['for another network', { accepted: { network: 'eip155:97' } }, MISMATCH],
    ['for the same network by its V1 name', { accepted: { network: 'bsc' } }, MISMATCH],
    ['for no network', { accepted: { network: undefined } }, MISMATCH],
    ['of V1 for an unknown network', { version: 1, accepted: { network: 'x' } }, MISMATCH],
    ['of V1 for another network', { version: 1, accepted: { network: 'base' } }, MISMATCH],
    ['without a token name', { requirements: { extra: { version: '1' } } }, NO_DOMAIN],
    ['without a token version', { requirements: { extra: { name: 'USD' } } }, NO_DOMAIN],
    [
      'with an empty token name',
      { requirements: { extra: { name: '', version: '1' } } },
      NO_DOMAIN,
    ],
    ['without extra', { requirements: { extra: undefined } }, NO_DOMAIN],
    // Truthy, and nothing that a domain has.
    [
      'with a name that is no text',
      { requirements: { extra: { name: 5, version: '1' } } },
      UNSIGNED,
    ],
    ['to another payee', { signed: { to: STRANGER } }, 'invalid_exact_evm_recipient_mismatch'],
    ['with five seconds left', { signed: { validBefore: String(NOW + 5) } }, TOO_LATE],
    ['with six seconds left', { signed: { validBefore: String(NOW + 6) } }, 'valid'],
    ['that becomes good in a second', { signed: { validAfter: String(NOW + 1) } }, TOO_EARLY],
    ['that is good from now on', { signed: { validAfter: String(NOW) } }, 'valid'],
    ['of one unit less', { signed: { value: String(AMOUNT - 1n) } }, VALUE_V2],
    ['of one unit more', { signed: { value: String(AMOUNT + 1n) } }, VALUE_V2],
    [
      'of V1 of one unit less',
      { version: 1, signed: { value: String(AMOUNT - 1n) } },
      'invalid_exact_evm_authorization_value',
    ],
    ['signed for something else', { signature: signatureOf(`0x${'00'.repeat(32)}`) }, UNSIGNED],
    ['without a signature', { signature: '0x' }, UNSIGNED],
    ['with a signature that is no bytes', { signature: 'signed' }, UNSIGNED],
    ['with v as 0', { v: '00' }, 'valid'],
    ['with v as 1', { v: '01' }, 'valid'],
    ['with v as 29', { v: '1d' }, UNSIGNED],
    ['of a negative value', { signed: { value: '-1' } }, UNSIGNED],
    ['of more than a uint256', { signed: { value: String(2n ** 256n) } }, UNSIGNED],
    ['with a short nonce', { signed: { nonce: '0xab' } }, UNSIGNED],
    ['of a payer that is no address', { signed: { from: '0x11' } }, UNSIGNED],
    [
      'to an address with a wrong checksum',
      { signed: { to: '0xAb5801a7D398351b8bE11C439e05C5B3259aeC9b' } },
      UNSIGNED,
    ],
    // The reference names the signature before the terms.
    ['to another payee, unsigned', { signed: { to: STRANGER }, signature: '0x' }, UNSIGNED],
    [
      'to another payee, late and too small',
      { signed: { to: STRANGER, validBefore: '0', value: '1' } },
      'invalid_exact_evm_recipient_mismatch',
    ],
    [
      'late, early and too small',
      { signed: { validBefore: '0', value: '1', validAfter: String(NOW + 1) } },
      TOO_LATE,
    ],
  ])('%s', async (_, sent, expected) => {
    const chain = new JudgingChain();
    const verdict = await verdictOf(sent, chain);
    expect(reasonOf(verdict)).toBe(expected);
    // A refusal that needs no simulation costs none.
    expect(chain.simulated).toHaveLength(expected === 'valid' ? 1 : 0);
    expect(verdict).toMatchObject(verdict.isValid ? {} : { isFromChainState: false });
  });

  it('is shown to the chain with v as 27 or 28, whatever the wallet wrote', async () => {
    const verdict = await verdictOf({ v: '01' });
    expect(verdict.isValid && verdict.authorization.signature.slice(-2)).toBe('1c');
  });

  it('is simulated as the lane would send it', async () => {
    const chain = new JudgingChain();
    await verdictOf({}, chain);
    expect(chain.simulated).toMatchObject([
      { sender: SENDER, gas: 500_000n, token: TOKEN, payer: PAYER, payTo: PAYEE, amount: AMOUNT },
    ]);
    expect(chain.simulated[0]?.call.to).toBe(TOKEN);
  });

  it('in a token without code is refused, whatever a call to it returns', async () => {
    const chain = new JudgingChain();
    chain.code.delete(TOKEN);
    expect(reasonOf(await verdictOf({}, chain))).toBe('asset_not_deployed_contract');
  });
});

describe('an EIP-3009 payment that would not pay', () => {
  const FAILED = 'invalid_exact_evm_transaction_simulation_failed';

  it.each<[string, Effect, (chain: JudgingChain) => void, string]>([
    [
      'of a poor payer',
      { status: 'reverted', data: undefined },
      (chain) => (chain.balance = AMOUNT - 1n),
      'invalid_exact_evm_insufficient_balance',
    ],
    [
      'that was used',
      { status: 'reverted', data: undefined },
      (chain) => (chain.isUsed = true),
      'invalid_exact_evm_nonce_already_used',
    ],
    [
      'signed for another name',
      { status: 'reverted', data: undefined },
      (chain) => (chain.tokenName = 'EUR'),
      'invalid_exact_evm_token_name_mismatch',
    ],
    [
      'signed for another version',
      { status: 'reverted', data: undefined },
      (chain) => (chain.tokenVersion = '2'),
      'invalid_exact_evm_token_version_mismatch',
    ],
    ['for no visible cause', { status: 'reverted', data: undefined }, () => undefined, FAILED],
    // It succeeds, and nothing arrives: a token that takes a fee, or lies.
    ['of a token that moves nothing', { status: 'unpaid' }, () => undefined, FAILED],
    ['of a token that burns its gas', { status: 'halted' }, () => undefined, 'gas_limit_exceeded'],
  ])('%s is refused by the state of the chain', async (_, effect, change, expected) => {
    const chain = new JudgingChain();
    chain.effects = [effect];
    change(chain);
    expect(await verdictOf({}, chain)).toMatchObject({
      isValid: false,
      reason: expected,
      isFromChainState: true,
    });
  });

  it('at one look and pays at the next says nothing about the payment', async () => {
    const chain = new JudgingChain();
    chain.effects = [{ status: 'unpaid' }, { status: 'paid', gasUsed: undefined }];
    await expect(verdictOf({}, chain)).rejects.toThrow(ChainUnavailableError);
  });
});

describe('an EIP-3009 payment of a payer with code', () => {
  const MAGIC = '0x1626ba7e';
  const says = (data: Hex): CallOutcome => ({ status: 'returned', data });

  function aWallet(walletSays: CallOutcome): JudgingChain {
    const chain = new JudgingChain();
    chain.code.add(PAYER);
    chain.walletSays = walletSays;
    return chain;
  }

  it.each<[string, CallOutcome, string]>([
    ['accepts it', says(`0x${MAGIC.slice(2).padEnd(64, '0')}`), 'valid'],
    ['returns another word', says(`0x${'ff'.repeat(32)}`), UNSIGNED],
    ['returns four bytes alone', says(MAGIC), UNSIGNED],
    ['returns nothing', says('0x'), UNSIGNED],
    ['reverts', { status: 'reverted', data: undefined }, UNSIGNED],
    ['burns its gas', { status: 'halted' }, UNSIGNED],
  ])('is judged by the wallet alone, which %s', async (_, walletSays, expected) => {
    // The key would have signed: the token does not ask it once there is code.
    expect(reasonOf(await verdictOf({}, aWallet(walletSays)))).toBe(expected);
  });

  it('keeps every byte of its signature, and gives the wallet no more gas than a settlement', async () => {
    const chain = aWallet(says(`0x${MAGIC.slice(2).padEnd(64, '0')}`));
    const verdict = await verdictOf({ v: '00' }, chain);
    expect(verdict).toMatchObject({ isValid: true, payerHasCode: true });
    expect(verdict.isValid && verdict.authorization.signature.slice(-2)).toBe('00');
    expect(chain.calls.find(({ call }) => call.to === PAYER)?.gas).toBe(500_000n);
  });

  it('is asked about what is in an ERC-6492 wrapper, whatever its factory', async () => {
    const inner: Hex = `0x${'77'.repeat(70)}`;
    const chain = aWallet(says(`0x${MAGIC.slice(2).padEnd(64, '0')}`));
    const verdict = await verdictOf({ signature: wrapped(inner, STRANGER) }, chain);
    expect(verdict).toMatchObject({ isValid: true, payerHasCode: true });
    expect(verdict.isValid && verdict.authorization.signature).toBe(inner);
    // Nothing of the wrapper is left.
    expect(verdict.isValid && verdict.authorization).not.toHaveProperty('deployment');
  });
});

describe('the terms of an EIP-3009 payment', () => {
  it.each<[string, Sent, string]>([
    ['late', { signed: { validBefore: '1' } }, 'valid'],
    ['early', { signed: { validAfter: String(NOW + 1000) } }, 'valid'],
    ['to another payee', { signed: { to: STRANGER } }, 'invalid_exact_evm_recipient_mismatch'],
    ['of another amount', { signed: { value: '1' } }, VALUE_V2],
    ['signed for something else', { signature: signatureOf(`0x${'00'.repeat(32)}`) }, UNSIGNED],
  ])('are asked without time, balance or simulation: %s', async (_, sent, expected) => {
    const chain = new JudgingChain();
    chain.effects = [{ status: 'unpaid' }];
    chain.balance = 0n;
    expect(reasonOf(await verdictOf(sent, chain, 'terms'))).toBe(expected);
    expect(chain.simulated).toEqual([]);
  });
});
