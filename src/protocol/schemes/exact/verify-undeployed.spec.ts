import { describe, expect, it } from '@jest/globals';
import { decodeFunctionData, type Hex, multicall3Abi } from 'viem';
import {
  aContext,
  AMOUNT,
  anEip3009Payment,
  FACTORY,
  JudgingChain,
  NOW,
  PAYER,
  type Sent,
  signatureOf,
  STRANGER,
  TOKEN,
  wrapped,
} from '../../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { ChainUnavailableError } from '../../errors.js';
import type { Eip3009Authorization } from '../../evm/authorization.js';
import { settlementCall } from '../../evm/calls.js';
import type { CallOutcome, Effect } from '../../evm/chain-reader.js';
import { MULTICALL3 } from '../../evm/contracts.js';
import type { Verdict, VerifyScope } from '../verdict.js';
import { verifyEip3009 } from './exact-eip3009.js';
import { DEPLOYMENT_GAS } from './verify-undeployed.js';

/** Of the wallet; as long as one of a key. */
const INNER: Hex = `0x${'77'.repeat(65)}`;
const WRAPPED = { signature: wrapped(INNER) };
const MAGIC: CallOutcome = { status: 'returned', data: `0x1626ba7e${'0'.repeat(56)}` };
const CAP = 500_000n + DEPLOYMENT_GAS;
const UNSIGNED = 'invalid_exact_evm_signature';
const FAILED = 'invalid_exact_evm_transaction_simulation_failed';

/** A chain on which the wallet accepts the signature as soon as it is there. */
function aChain(deployedSays: CallOutcome = MAGIC): JudgingChain {
  const chain = new JudgingChain();
  chain.deployedSays = deployedSays;
  return chain;
}

const verdictOf = (
  sent: Sent = WRAPPED,
  chain = aChain(),
  scope: VerifyScope = 'full',
): Promise<Verdict> => {
  const { payment, claim } = anEip3009Payment(sent);
  return verifyEip3009(payment, claim, aContext(chain), scope);
};
const reasonOf = (verdict: Verdict): string => (verdict.isValid ? 'valid' : verdict.reason);
const aggregated = ({ data }: { readonly data: Hex }) =>
  decodeFunctionData({ abi: multicall3Abi, data }).args[0];
const runsOf = ({ calls }: JudgingChain) => calls.filter(({ call }) => call.to === MULTICALL3);

describe('a payment by EIP-3009 of a wallet that is not there yet', () => {
  it('is good where its factory may be called and it pays, and tells how the wallet is made', async () => {
    const verdict = await verdictOf();
    expect(verdict).toMatchObject({
      isValid: true,
      payerHasCode: false,
      authorization: {
        from: PAYER,
        value: AMOUNT,
        signature: INNER,
        deployment: { factory: FACTORY, data: '0x1234' },
      },
    });
  });

  it('is simulated as the very call that will be sent, with gas for the factory', async () => {
    const chain = aChain();
    const verdict = await verdictOf(WRAPPED, chain);
    const [simulated] = chain.simulated;
    if (simulated === undefined || !verdict.isValid) throw new Error('not simulated');
    const { call, gas, payer } = simulated;
    expect(call).toEqual(settlementCall(verdict.authorization as Eip3009Authorization, TOKEN));
    expect([call.to, call.deploys, gas, payer]).toEqual([MULTICALL3, PAYER, CAP, PAYER]);
    expect(aggregated(call)).toMatchObject([
      { allowFailure: true, callData: '0x1234' },
      // The overload that asks the wallet, though the signature is as long as one of a key.
      { allowFailure: false, callData: expect.stringMatching(/^0xcf092995/) },
    ]);
    expect(chain.simulated).toHaveLength(1);
  });

  it('is asked of the wallet itself, once its factory was called', async () => {
    const chain = aChain();
    await verdictOf(WRAPPED, chain);
    const [asked, ...others] = runsOf(chain);
    expect(others).toEqual([]);
    expect(asked?.gas).toBe(CAP);
    expect(asked?.call.deploys).toBe(PAYER);
    expect(asked && aggregated(asked.call)).toMatchObject([
      { allowFailure: true, callData: '0x1234' },
      { allowFailure: true, callData: expect.stringMatching(/^0x1626ba7e/) },
    ]);
  });

  it.each<[string, CallOutcome]>([
    // The payer is no wallet: the factory has made something else at our cost.
    ['has no code then', { status: 'returned', data: '0x' }],
    ['says no', { status: 'returned', data: `0x${'ff'.repeat(32)}` }],
    ['says it in four bytes', { status: 'returned', data: '0x1626ba7e' }],
    ['reverts', { status: 'reverted', data: undefined }],
    ['burns its gas', { status: 'halted' }],
  ])('is refused where the token takes it and the wallet %s', async (_, says) => {
    for (const scope of ['full', 'terms'] as const) {
      expect(await verdictOf(WRAPPED, aChain(says), scope)).toMatchObject({
        isValid: false,
        reason: UNSIGNED,
        isFromChainState: true,
      });
    }
  });

  it('is refused where its factory may not be called, and none of its code runs', async () => {
    for (const scope of ['full', 'terms'] as const) {
      for (const other of [STRANGER, TOKEN, MULTICALL3, PAYER]) {
        const chain = aChain();
        const verdict = await verdictOf({ signature: wrapped(INNER, other) }, chain, scope);
        expect(verdict).toMatchObject({
          isValid: false,
          reason: 'eip6492_factory_not_allowed',
          isFromChainState: true,
        });
        expect([chain.simulated, chain.calls]).toEqual([[], []]);
      }
    }
  });

  it.each<[string, Hex]>([
    ['malformed', `0x${'6492'.repeat(16)}`],
    ['nested', wrapped(wrapped(INNER))],
  ])(
    'is refused where its wrapper is %s, whether the wallet is there or not',
    async (_, signature) => {
      for (const isThere of [false, true]) {
        const chain = aChain();
        chain.walletSays = MAGIC;
        if (isThere) chain.code.add(PAYER);
        expect(reasonOf(await verdictOf({ signature }, chain))).toBe(UNSIGNED);
        expect([chain.simulated, chain.calls]).toEqual([[], []]);
      }
    },
  );

  it('of a payer whose key has signed goes the usual way, without the factory', async () => {
    const { claim } = anEip3009Payment();
    if (claim.signature === undefined) throw new Error('not signed');
    const chain = aChain();
    const verdict = await verdictOf({ signature: wrapped(claim.signature) }, chain);
    expect(verdict.isValid && verdict.authorization).toMatchObject({ signature: claim.signature });
    expect(verdict.isValid && verdict.authorization).not.toHaveProperty('deployment');
    expect(chain.simulated).toMatchObject([{ call: { to: TOKEN }, gas: 500_000n }]);
  });

  it.each<[string, Sent, string]>([
    ['another payee', { signed: { to: STRANGER } }, 'invalid_exact_evm_recipient_mismatch'],
    [
      'too little time',
      { signed: { validBefore: String(NOW + 5) } },
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    [
      'another amount',
      { signed: { value: '1' } },
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
    ['a malformed nonce', { signed: { nonce: '0xab' } }, UNSIGNED],
    ['another scheme', { accepted: { scheme: 'upto' } }, 'invalid_exact_evm_scheme'],
  ])('with %s is refused before code of anybody runs', async (_, sent, expected) => {
    const chain = aChain();
    const verdict = await verdictOf({ ...WRAPPED, ...sent }, chain);
    expect(reasonOf(verdict)).toBe(expected);
    expect([chain.simulated, chain.calls]).toEqual([[], []]);
  });

  it('is checked by its wallet before an error of its terms is shown', async () => {
    const other = { ...WRAPPED, signed: { to: STRANGER } };
    const unsigned = aChain({ status: 'reverted', data: undefined });
    expect(reasonOf(await verdictOf(other, unsigned, 'terms'))).toBe(UNSIGNED);
    expect(reasonOf(await verdictOf(other, aChain(), 'terms'))).toBe(
      'invalid_exact_evm_recipient_mismatch',
    );
    const late = { ...WRAPPED, signed: { validBefore: '1' } };
    expect(reasonOf(await verdictOf(late, aChain(), 'terms'))).toBe('valid');
  });

  it('in a token that is not there is refused', async () => {
    const chain = aChain();
    chain.code.delete(TOKEN);
    expect(reasonOf(await verdictOf(WRAPPED, chain))).toBe('asset_not_deployed_contract');
    expect([chain.simulated, runsOf(chain)]).toEqual([[], []]);
  });
});

describe('a payment of a wallet that is not there yet and would not pay', () => {
  it.each<[string, Effect, (chain: JudgingChain) => void, string]>([
    ['for no visible cause', { status: 'reverted', data: '0x' }, () => undefined, FAILED],
    ['as its factory burns all gas', { status: 'halted' }, () => undefined, 'gas_limit_exceeded'],
    ['as the token moves nothing', { status: 'unpaid' }, () => undefined, FAILED],
    [
      'as it was used',
      { status: 'reverted', data: '0x' },
      (chain) => (chain.isUsed = true),
      'invalid_exact_evm_nonce_already_used',
    ],
    [
      'as the token has another name',
      { status: 'reverted', data: '0x' },
      (chain) => (chain.tokenName = 'EUR'),
      'invalid_exact_evm_token_name_mismatch',
    ],
  ])('%s is refused by the state of the chain', async (_, effect, change, expected) => {
    const chain = aChain();
    chain.effects = [effect];
    change(chain);
    expect(await verdictOf(WRAPPED, chain)).toMatchObject({
      isValid: false,
      reason: expected,
      isFromChainState: true,
    });
    // What does not pay is not asked who signed it.
    expect(runsOf(chain)).toEqual([]);
  });

  it('without the balance runs no code of its payer, and the refusal names the balance', async () => {
    const chain = aChain();
    chain.balance = AMOUNT - 1n;
    expect(reasonOf(await verdictOf(WRAPPED, chain))).toBe(
      'invalid_exact_evm_insufficient_balance',
    );
    chain.isUsed = true;
    expect(reasonOf(await verdictOf(WRAPPED, chain))).toBe('invalid_exact_evm_nonce_already_used');
    expect([chain.simulated, runsOf(chain)]).toEqual([[], []]);
  });

  it('whose money comes while it is looked at is not judged', async () => {
    const chain = aChain();
    let looks = 0;
    const call = chain.call.bind(chain);
    chain.call = (asked, gas) => {
      if (asked.data.startsWith('0x70a08231')) {
        looks += 1;
        chain.balance = looks === 1 ? 0n : AMOUNT;
      }
      return call(asked, gas);
    };
    await expect(verdictOf(WRAPPED, chain)).rejects.toThrow(ChainUnavailableError);
  });

  it('at one look and pays at the next is not judged', async () => {
    const chain = aChain();
    chain.effects = [{ status: 'unpaid' }, { status: 'paid', gasUsed: undefined }];
    await expect(verdictOf(WRAPPED, chain)).rejects.toThrow(ChainUnavailableError);
  });

  it('signed by another key is refused as a stranger’s', async () => {
    const chain = aChain({ status: 'reverted', data: undefined });
    const signature = wrapped(signatureOf(`0x${'00'.repeat(32)}`));
    expect(reasonOf(await verdictOf({ signature }, chain))).toBe(UNSIGNED);
  });
});
