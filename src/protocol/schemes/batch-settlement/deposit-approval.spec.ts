import { describe, expect, it } from '@jest/globals';
import {
  aChannelChain,
  aChannelPayment,
  aContext,
  type Sent,
  stranger,
  TOKEN,
  type World,
} from '../../../../test/builders/protocol/schemes/batch-settlement/channel.js';
import {
  anApprovalClaim,
  ApprovingChain,
  LIMITS,
  OWNER,
} from '../../../../test/builders/protocol/schemes/permit2/approval.js';
import type { Effect } from '../../evm/chain-reader.js';
import type { Reason } from '../../reasons.js';
import type { Verdict, VerifyScope } from '../verdict.js';
import type { DepositClaim } from './claims.js';
import type { Permit2Deposit } from './deposit.js';
import { PERMIT2_DEPOSIT } from './deposit-actions.js';
import { verifyDeposit } from './verify-deposit.js';

const BS = 'invalid_batch_settlement_evm_';
const REVERTED: Effect = { status: 'reverted', data: undefined };
const TERMS = { asset: TOKEN, payTo: TOKEN, amount: 1000n };

interface Asked {
  readonly payer?: ApprovingChain;
  readonly signed?: Parameters<typeof anApprovalClaim>[1];
  readonly sent?: Sent;
  readonly world?: World;
  readonly scope?: VerifyScope;
  readonly isOn?: boolean;
}

async function verdictOf(asked: Asked = {}) {
  const { payer = new ApprovingChain(), signed, sent, scope = 'full', isOn = true } = asked;
  const info = await anApprovalClaim({}, signed);
  const { payment, claim } = await aChannelPayment('permit2', {
    config: { payer: OWNER.address },
    deposit: OWNER,
    extensions: { erc20ApprovalGasSponsoring: { info } },
    ...sent,
  });
  const { chain, simulated } = aChannelChain({ allowance: 0n, ...asked.world });
  const approvals = { chain: payer, limits: LIMITS, confirm: payer.confirm };
  const context = { ...aContext(chain), ...(isOn && { approvals }) };
  const verdict = await verifyDeposit(payment, claim as DepositClaim, context, scope);
  return { verdict, simulated, payer };
}

const reasonOf = (verdict: Verdict): string =>
  verdict.isValid ? 'valid' : verdict.reason.replace(BS, 'BS:');

async function anApproved(): Promise<Permit2Deposit> {
  const { verdict } = await verdictOf();
  if (!verdict.isValid) throw new Error(verdict.reason);
  return verdict.authorization as Permit2Deposit;
}

describe('a deposit that brings the approval of its payer', () => {
  it('is good when it is made after the approval, which is mined before it is sent', async () => {
    const { verdict, simulated, payer } = await verdictOf();
    expect(verdict).toMatchObject({ isValid: true, extra: { balance: '500' } });
    expect(payer.first).toMatchObject([{ call: { to: TOKEN }, gas: 70_000n }]);
    expect(simulated).toEqual([]);
    const deposit = await anApproved();
    expect(PERMIT2_DEPOSIT.inFlightKindOf(deposit)).toBe('a');
    expect(PERMIT2_DEPOSIT.allowanceCall?.(deposit, TOKEN)).toBeUndefined();
    expect(PERMIT2_DEPOSIT.preparationOf?.(deposit, TERMS)).toMatchObject({
      transaction: { accountNonce: 3, gas: 70_000n },
      proof: { to: TOKEN },
      least: 1000n,
    });
  });

  it('is stored and read again whole', async () => {
    const deposit = await anApproved();
    const stored: unknown = JSON.parse(
      JSON.stringify(deposit, (_, value: unknown) =>
        typeof value === 'bigint' ? value.toString() : value,
      ),
    );
    expect(PERMIT2_DEPOSIT.decode(stored)).toEqual(deposit);
  });

  it('is made directly where the payer has approved enough', async () => {
    const payer = new ApprovingChain();
    payer.checked.allowance = 1000n;
    const { verdict, simulated } = await verdictOf({ payer, world: { allowance: 1000n } });
    expect(verdict).toMatchObject({ isValid: true });
    expect(verdict).not.toMatchObject({ authorization: { sponsoredApproval: {} } });
    expect([payer.first, simulated.length]).toEqual([[], 1]);
  });

  it('needs an earlier approval where the one that it brings is not paid for', async () => {
    const unvouched = new ApprovingChain();
    unvouched.isVouchedFor = false;
    for (const asked of [{ payer: unvouched }, { isOn: false }]) {
      const { verdict, payer } = await verdictOf(asked);
      expect([reasonOf(verdict), payer.first]).toEqual(['BS:permit2_allowance_required', []]);
    }
  });

  it.each<[string, Asked, string]>([
    ['its voucher is of another', { sent: { voucher: stranger } }, 'BS:voucher_signature'],
    [
      'its channel has paid as much',
      { world: { totalClaimed: 400n } },
      'BS:cumulative_below_claimed',
    ],
    ['its channel would hold less', { sent: { max: 1501n } }, 'BS:cumulative_exceeds_balance'],
    ['its deposit is of another', { sent: { deposit: stranger } }, 'BS:permit2_invalid_signature'],
    ['its payer owns less', { world: { payerBalance: 999n } }, 'BS:insufficient_balance'],
    [
      'its approval is for another chain',
      { signed: { chainId: 97 } },
      'erc20_approval_tx_wrong_chain',
    ],
    ['its approval comes too late', { signed: { nonce: 2 } }, 'erc20_approval_tx_nonce_mismatch'],
  ])('has no approval paid for where %s', async (_, asked, reason) => {
    expect(reasonOf((await verdictOf(asked)).verdict)).toBe(reason);
  });

  it.each<[string, (payer: ApprovingChain) => unknown, string]>([
    [
      'it fails after it',
      (payer) => (payer.effectAfter = REVERTED),
      'BS:deposit_simulation_failed',
    ],
    [
      'its payer is poor after it',
      (payer) => ((payer.effectAfter = REVERTED), (payer.checked.balance = 999n)),
      'BS:insufficient_balance',
    ],
    [
      'the token refuses it',
      (payer) => (payer.effectAfter = { status: 'first_failed' }),
      'erc20_approval_tx_failed',
    ],
  ])('tells in the words of its scheme that %s', async (_, change, reason) => {
    const payer = new ApprovingChain();
    change(payer);
    expect(reasonOf((await verdictOf({ payer })).verdict)).toBe(reason);
  });

  it('is matched with what was made without a look at the approval', async () => {
    const { verdict, payer } = await verdictOf({ scope: 'terms', signed: { nonce: 0 } });
    expect([verdict.isValid, payer.first]).toEqual([true, []]);
  });

  it('waits for a node that does not see the approval yet', async () => {
    const deposit = await anApproved();
    const reasonOn = async (world: World): Promise<Reason | undefined> => {
      const { chain } = aChannelChain(world);
      const again = () => Promise.resolve(world.effect ?? REVERTED);
      return PERMIT2_DEPOSIT.diagnose(
        chain,
        { ...TERMS, tokenName: 'USD', tokenVersion: '1' },
        deposit,
        { failure: { status: 'reverted', data: undefined }, again },
      );
    };
    expect(await reasonOn({ allowance: 999n })).toBe(PERMIT2_DEPOSIT.reasons.insufficientAllowance);
    expect(await reasonOn({ allowance: 1000n })).toBe(`${BS}deposit_simulation_failed`);
    const paid: Effect = { status: 'paid', gasUsed: undefined };
    expect(await reasonOn({ allowance: 999n, effect: paid })).toBeUndefined();
  });

  it.each<Reason>([
    'erc20_approval_tx_nonce_mismatch',
    'eip2612_deadline_expired',
    `${BS}cumulative_exceeds_balance`,
  ])('may be refused by %s because it was made', (reason) => {
    expect(PERMIT2_DEPOSIT.mayMeanUsed(reason)).toBe('yes');
  });
});
