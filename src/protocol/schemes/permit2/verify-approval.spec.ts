import { describe, expect, it } from '@jest/globals';
import {
  aContext,
  AMOUNT,
  aPermit2Payment,
  sponsoredBy,
} from '../../../../test/builders/protocol/schemes/exact/exact-payment.js';
import {
  anApprovalClaim,
  ApprovingChain,
  LIMITS,
  OWNER_ADDRESS,
  recoverOwner,
} from '../../../../test/builders/protocol/schemes/permit2/approval.js';
import { EndpointsDisagreeError } from '../../errors.js';
import type { Permit2Authorization } from '../../evm/authorization.js';
import { EXACT_PERMIT2 } from '../exact/exact-permit2.js';
import type { Verdict, VerifyScope } from '../verdict.js';

interface Asked {
  readonly isOn?: boolean;
  readonly scope?: VerifyScope;
  readonly extensions?: object;
  readonly signed?: Parameters<typeof anApprovalClaim>[1];
  readonly leastTipWei?: bigint;
}

async function verdictOf(chain: ApprovingChain, asked: Asked = {}): Promise<Verdict> {
  const { isOn = true, scope = 'full', extensions = {}, signed, leastTipWei } = asked;
  const info = await anApprovalClaim({}, signed);
  const { payment, claim } = aPermit2Payment({
    signed: { from: OWNER_ADDRESS },
    extensions: { erc20ApprovalGasSponsoring: { info }, ...extensions },
  });
  const context = { ...aContext(chain), recoverSigner: recoverOwner };
  const limits = { ...LIMITS, leastTipWei };
  const approvals = { chain, limits, confirm: chain.confirm };
  const asking = isOn ? { ...context, approvals } : context;
  return EXACT_PERMIT2.verify(payment, claim, asking, scope);
}

const reasonOf = (verdict: Verdict): string => (verdict.isValid ? 'valid' : verdict.reason);
const approvalOf = (verdict: Verdict): unknown =>
  verdict.isValid ? (verdict.authorization as Permit2Authorization).sponsoredApproval : undefined;

describe('a payment that brings the approval of its payer', () => {
  it('is good when it pays after the approval, and keeps the approval', async () => {
    const chain = new ApprovingChain();
    const verdict = await verdictOf(chain);
    expect(reasonOf(verdict)).toBe('valid');
    expect(approvalOf(verdict)).toMatchObject({ accountNonce: 3, gas: 70_000n });
    expect(chain.first).toMatchObject([{ from: OWNER_ADDRESS, gas: 70_000n }]);
    expect(chain.checked.simulated).toEqual([]);
  });

  it('is judged as if it brought none where the operator does not pay for approvals', async () => {
    const chain = new ApprovingChain();
    chain.checked.effects = [{ status: 'reverted', data: undefined }];
    expect(reasonOf(await verdictOf(chain, { isOn: false }))).toBe('permit2_allowance_required');
    expect(chain.first).toEqual([]);
  });

  it('is paid directly where the payer has approved enough, whatever the approval is', async () => {
    const chain = new ApprovingChain();
    chain.checked.allowance = AMOUNT;
    const verdict = await verdictOf(chain, { signed: { nonce: 0, chainId: 97 } });
    expect(reasonOf(verdict)).toBe('valid');
    expect(approvalOf(verdict)).toBeUndefined();
    expect(chain.checked.simulated).toHaveLength(1);
  });

  it('is verified as if it brought none where the token is not trusted', async () => {
    const chain = new ApprovingChain();
    chain.isVouchedFor = false;
    chain.checked.effects = [{ status: 'reverted', data: undefined }];
    expect(reasonOf(await verdictOf(chain))).toBe('permit2_allowance_required');
    expect(chain.first).toEqual([]);
  });

  it('is paid by the permit where it brings both', async () => {
    const chain = new ApprovingChain();
    const permit = sponsoredBy({ from: OWNER_ADDRESS });
    expect(approvalOf(await verdictOf(chain, { extensions: permit }))).toBeUndefined();
    expect(chain.first).toEqual([]);
  });

  it('is matched with what it was without a look at the approval', async () => {
    const chain = new ApprovingChain();
    expect(approvalOf(await verdictOf(chain, { scope: 'terms' }))).toBeUndefined();
    expect(chain.first).toEqual([]);
  });

  it('is refused when the payment is not signed, whatever the approval is', async () => {
    const info = await anApprovalClaim();
    const { payment, claim } = aPermit2Payment({
      signature: '0x',
      extensions: { erc20ApprovalGasSponsoring: { info } },
    });
    const chain = new ApprovingChain();
    const approvals = { chain, limits: LIMITS, confirm: chain.confirm };
    const context = { ...aContext(chain), recoverSigner: recoverOwner, approvals };
    const verdict = await EXACT_PERMIT2.verify(payment, claim, context, 'full');
    expect(reasonOf(verdict)).toBe('invalid_permit2_signature');
  });

  const states: readonly (readonly [string, (chain: ApprovingChain) => unknown, string])[] = [
    [
      'used its account nonce',
      (chain) => (chain.used = chain.pending = 4),
      'erc20_approval_tx_nonce_mismatch',
    ],
    [
      'has not come to it',
      (chain) => (chain.used = chain.pending = 2),
      'erc20_approval_tx_nonce_mismatch',
    ],
    [
      'has something else waiting at it',
      (chain) => (chain.pending = 4),
      'erc20_approval_tx_nonce_mismatch',
    ],
    [
      'has the approval itself waiting',
      (chain) => ((chain.pending = 4), (chain.knowsApproval = true)),
      'valid',
    ],
    ['needs all that it may be sent', (chain) => (chain.balanceWei = 0n), 'valid'],
    ['has enough', (chain) => (chain.balanceWei = 10n ** 18n), 'valid'],
    [
      'offers less than the base fee',
      (chain) => (chain.baseFeePerGas = 1_000_000_001n),
      'erc20_approval_tx_underpriced',
    ],
    [
      'offers less than a fifth of what is usual',
      (chain) => (chain.suggestedWei = 600_000_000n),
      'erc20_approval_tx_underpriced',
    ],
    [
      'offers less than nodes suggest, where the tip is the whole price',
      (chain) => (chain.suggestedWei = 100_000_001n),
      'erc20_approval_tx_underpriced',
    ],
    [
      'offers a fifth of the usual tip, where the base fee is the rest of the price',
      (chain) => ((chain.baseFeePerGas = 1000n), (chain.suggestedWei = 500_001_000n)),
      'valid',
    ],
    [
      'can just pay the base fee that the next block may have',
      (chain) => ((chain.baseFeePerGas = 850_000_000n), (chain.suggestedWei = 900_000_000n)),
      'valid',
    ],
    [
      'cannot pay the base fee that the next block may have',
      (chain) => ((chain.baseFeePerGas = 950_000_000n), (chain.suggestedWei = 950_000_000n)),
      'erc20_approval_tx_underpriced',
    ],
    ['is on a chain without base fee', (chain) => (chain.baseFeePerGas = undefined), 'valid'],
    [
      'is refused by the token',
      (chain) => (chain.effectAfter = { status: 'first_failed' }),
      'erc20_approval_tx_failed',
    ],
    [
      'would still not pay',
      (chain) => (chain.effectAfter = { status: 'reverted', data: undefined }),
      'permit2_simulation_failed',
    ],
    [
      'would not bring the payee its money',
      (chain) => (chain.effectAfter = { status: 'unpaid' }),
      'permit2_simulation_failed',
    ],
    ['would burn gas', (chain) => (chain.effectAfter = { status: 'halted' }), 'gas_limit_exceeded'],
    [
      'is poor',
      (chain) => (
        (chain.effectAfter = { status: 'unpaid' }),
        (chain.checked.balance = AMOUNT - 1n)
      ),
      'permit2_insufficient_balance',
    ],
  ];
  it.each(states)('whose payer %s', async (_, change, expected) => {
    const chain = new ApprovingChain();
    change(chain);
    expect(reasonOf(await verdictOf(chain))).toBe(expected);
  });

  it.each<[bigint, string]>([
    [100_000_000n, 'valid'],
    [100_000_001n, 'erc20_approval_tx_underpriced'],
  ])('offers 100000000 wei where validators take %s at the least: %s', async (least, expected) => {
    const chain = new ApprovingChain();
    // Nodes suggest more than that, as they do while blocks are full.
    chain.suggestedWei = 600_000_000n;
    expect(reasonOf(await verdictOf(chain, { leastTipWei: least }))).toBe(expected);
  });

  const lies: readonly (readonly [string, (chain: ApprovingChain) => unknown])[] = [
    [
      'that its account nonce is used',
      (chain) => ((chain.used = chain.pending = 6), (chain.agreed = { used: 3, pending: 3 })),
    ],
    [
      'that something else waits at it',
      (chain) => ((chain.pending = 6), (chain.agreed = { pending: 3 })),
    ],
    [
      'that the approval itself is not what waits',
      (chain) => ((chain.pending = 4), (chain.agreed = { isKnown: true })),
    ],
    [
      'that gas costs much more than it does',
      (chain) => ((chain.suggestedWei = 10n ** 12n), (chain.agreed = { gasPriceWei: 1n })),
    ],
    [
      'that the base fee is much higher than it is',
      (chain) => ((chain.baseFeePerGas = 10n ** 12n), (chain.agreed = { baseFeePerGas: 0n })),
    ],
  ];
  it.each(lies)('is good where one node alone says %s', async (_, lie) => {
    const chain = new ApprovingChain();
    lie(chain);
    expect(reasonOf(await verdictOf(chain))).toBe('valid');
  });

  it('is neither good nor refused while two nodes disagree about its payer', async () => {
    const chain = new ApprovingChain();
    chain.agreed = new EndpointsDisagreeError(56, 'transaction count');
    expect(reasonOf(await verdictOf(chain))).toBe('valid');
    chain.used = 6;
    await expect(verdictOf(chain)).rejects.toThrow(EndpointsDisagreeError);
  });

  it('is refused when the payer would have to be sent more than the limit', async () => {
    const chain = new ApprovingChain();
    const signed = { gas: 100_000n, maxFeePerGas: 5_000_000_000n };
    expect(reasonOf(await verdictOf(chain, { signed }))).toBe('valid');
    const context = { ...aContext(chain), recoverSigner: recoverOwner };
    const info = await anApprovalClaim({}, signed);
    const { payment, claim } = aPermit2Payment({
      signed: { from: OWNER_ADDRESS },
      extensions: { erc20ApprovalGasSponsoring: { info } },
    });
    const limits = { ...LIMITS, topUpWei: 100_000n * 5_000_000_000n - 1n };
    const asking = { ...context, approvals: { chain, limits, confirm: chain.confirm } };
    const verdict = await EXACT_PERMIT2.verify(payment, claim, asking, 'full');
    expect(reasonOf(verdict)).toBe('erc20_approval_tx_too_expensive');
    // It has the rest itself: one node said that it had nothing.
    chain.agreed = { balanceWei: 1n };
    expect(reasonOf(await EXACT_PERMIT2.verify(payment, claim, asking, 'full'))).toBe('valid');
  });

  it('is refused where the payer has code: its approval cannot be sent', async () => {
    const chain = new ApprovingChain();
    chain.checked.code.add(OWNER_ADDRESS);
    chain.checked.walletSays = { status: 'returned', data: `0x1626ba7e${'00'.repeat(28)}` };
    expect(reasonOf(await verdictOf(chain))).toBe('erc20_approval_payer_has_code');
  });

  const parts: readonly (readonly [string, (chain: ApprovingChain) => unknown, string])[] = [
    ['all of them good', () => undefined, 'valid'],
    [
      'an approval that reverts',
      (chain) => (chain.approves = { status: 'reverted', data: undefined }),
      'erc20_approval_tx_failed',
    ],
    [
      'an approval that says no',
      (chain) => (chain.approves = { status: 'returned', data: `0x${'00'.repeat(32)}` }),
      'erc20_approval_tx_failed',
    ],
    [
      'a poor payer',
      (chain) => (chain.checked.balance = AMOUNT - 1n),
      'permit2_insufficient_balance',
    ],
    [
      'a used Permit2 nonce',
      (chain) => (chain.nonceBitmap = 1n << 77n),
      'permit2_simulation_failed',
    ],
  ];
  it.each(parts)(
    'is judged by its parts where a node cannot do better: %s',
    async (_, change, expected) => {
      const chain = new ApprovingChain();
      chain.effectAfter = undefined;
      change(chain);
      expect(reasonOf(await verdictOf(chain))).toBe(expected);
    },
  );
});
