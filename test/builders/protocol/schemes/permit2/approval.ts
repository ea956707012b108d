import {
  type Address,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  maxUint256,
  recoverAddress,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { uintWord } from '../../../../../src/protocol/evm/abi-words.js';
import type {
  ApprovalChain,
  ApprovalLimits,
  EffectAfter,
  FirstCall,
  PayerAccount,
} from '../../../../../src/protocol/evm/approval-chain.js';
import type { Call } from '../../../../../src/protocol/evm/calls.js';
import type {
  CallOutcome,
  Effect,
  Settlement,
} from '../../../../../src/protocol/evm/chain-reader.js';
import { PERMIT2 } from '../../../../../src/protocol/evm/contracts.js';
import type { SponsoredApprovalClaim } from '../../../../../src/protocol/payment/payment.js';
import type { RecoverSignerAsync } from '../../../../../src/protocol/schemes/verdict.js';
import { JudgingChain, signatureOf, TOKEN } from '../exact/exact-payment.js';

const GWEI = 1_000_000_000n;
export const OWNER = privateKeyToAccount(`0x${'07'.repeat(32)}`);
export const OWNER_ADDRESS = OWNER.address.toLowerCase() as Address;

export const LIMITS: ApprovalLimits = {
  gas: 100_000n,
  maxFeePerGas: 5n * GWEI,
  topUpWei: 500_000n * GWEI,
};

export const approveData = (spender: Address = PERMIT2, amount = maxUint256): Hex =>
  encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, amount] });

type Signed = Parameters<typeof OWNER.signTransaction>[0];

/** The payer's signed `approve`, changed as a test wants. */
export function anApproval(changes: Partial<Signed> = {}): Promise<Hex> {
  return OWNER.signTransaction({
    type: 'eip1559',
    chainId: 56,
    nonce: 3,
    to: TOKEN,
    data: approveData(),
    gas: 70_000n,
    maxFeePerGas: GWEI,
    maxPriorityFeePerGas: GWEI / 10n,
    ...changes,
  } as Signed);
}

export async function anApprovalClaim(
  changes: Partial<SponsoredApprovalClaim> = {},
  signed: Partial<Signed> = {},
): Promise<SponsoredApprovalClaim> {
  return {
    from: OWNER_ADDRESS,
    asset: TOKEN,
    spender: PERMIT2,
    amount: maxUint256.toString(),
    signedTransaction: await anApproval(signed),
    version: '1',
    ...changes,
  };
}

/** One chain as a payer's approval is judged by. */
export class ApprovingChain implements ApprovalChain {
  /** What every judgement reads. */
  readonly checked = new JudgingChain();
  readonly chainId = this.checked.chainId;
  readonly schemeContracts = this.checked.schemeContracts;
  used = 3;
  pending = 3;
  knowsApproval = false;
  balanceWei = 0n;
  baseFeePerGas: bigint | undefined = 0n;
  suggestedWei = GWEI / 10n;
  /** `undefined` where the node cannot simulate one transaction on top of another. */
  effectAfter: EffectAfter | undefined = { status: 'paid', gasUsed: undefined };
  approves: CallOutcome = { status: 'returned', data: '0x' };
  nonceBitmap = 0n;
  isVouchedFor = true;
  readonly first: FirstCall[] = [];
  /** What two nodes say alike where it is not what this one says. */
  agreed: Partial<PayerAccount> | Error = {};

  constructor() {
    this.checked.allowance = 0n;
  }

  hasCode(address: Address): Promise<boolean> {
    return this.checked.hasCode(address);
  }

  isContract(asset: Address): Promise<boolean> {
    return this.checked.isContract(asset);
  }

  call(call: Call, gas?: bigint): Promise<CallOutcome> {
    return call.to === PERMIT2
      ? Promise.resolve({ status: 'returned', data: `0x${uintWord(this.nonceBitmap)}` })
      : this.checked.call(call, gas);
  }

  newestTime(): Promise<bigint> {
    return this.checked.newestTime();
  }

  simulate(settlement: Settlement): Promise<Effect> {
    return this.checked.simulate(settlement);
  }

  isTrusted(): boolean {
    return this.isVouchedFor;
  }

  transactionCount(_: Address, at: 'latest' | 'pending'): Promise<number> {
    return Promise.resolve(at === 'latest' ? this.used : this.pending);
  }

  transaction(): Promise<object | undefined> {
    return Promise.resolve(this.knowsApproval ? {} : undefined);
  }

  balance(): Promise<bigint> {
    return Promise.resolve(this.balanceWei);
  }

  latestBlock(): Promise<{ readonly baseFeePerGas: bigint | undefined }> {
    return Promise.resolve({ baseFeePerGas: this.baseFeePerGas });
  }

  gasPrice(): Promise<bigint> {
    return Promise.resolve(this.suggestedWei);
  }

  /** The account of the payer as two nodes see it. */
  confirm = async (): Promise<PayerAccount> => {
    if (this.agreed instanceof Error) throw this.agreed;
    const { used, pending, baseFeePerGas, balanceWei } = this;
    const { knowsApproval: isKnown, suggestedWei: gasPriceWei } = this;
    return Promise.resolve({
      used,
      pending,
      isKnown,
      balanceWei,
      baseFeePerGas,
      gasPriceWei,
      ...this.agreed,
    });
  };

  callFrom(): Promise<CallOutcome> {
    return Promise.resolve(this.approves);
  }

  simulateAfter(first: FirstCall): Promise<EffectAfter | undefined> {
    this.first.push(first);
    return Promise.resolve(this.effectAfter);
  }
}

/** Signatures of payments are those of the builder's payer, here another account; others are real. */
export const recoverOwner: RecoverSignerAsync = async (digest, signature) => {
  if (signature === signatureOf(digest)) return OWNER_ADDRESS;
  try {
    return (await recoverAddress({ hash: digest, signature })).toLowerCase() as Address;
  } catch {
    return undefined;
  }
};
