import { z } from 'zod';
import type { Payment } from '../../protocol/payment/payment.js';
import { actionOf, DEFAULT_SCHEME, isMethodName } from '../../protocol/schemes/registry.js';
import {
  type SettlementStatus,
  statusOf,
} from '../../settlement/ledger/queries/settlement-status.js';
import type {
  Finality,
  SettlementDetails,
  SettlementView,
} from '../../settlement/model/settlement.js';
import {
  FINAL_MS,
  PENDING_MS,
  REORG_MS,
  REORG_OVER_MS,
  SIMULATED_OUTCOMES,
  simulatedHashOf,
  SLOW_MS,
} from './outcomes.js';

/** The record of a simulated settlement: enough to derive its state at any time. JSON. */
export const SimulatedSettlement = z.object({
  id: z.string(),
  outcome: z.enum(SIMULATED_OUTCOMES),
  termsTag: z.string(),
  isAsync: z.boolean(),
  /** Milliseconds since the epoch of the first request. */
  begunAt: z.number(),
  /** Atomic units, where less than the signed amount may be settled. */
  settledAmount: z.string().optional(),
  /** The reason of a failure. */
  failure: z.string().optional(),
  details: z.object({
    scheme: z.string(),
    method: z.string(),
    chainId: z.number(),
    token: z.string(),
    payer: z.string(),
    payTo: z.string(),
    amount: z.string(),
    nonce: z.string(),
    deadline: z.string(),
  }),
});
export type SimulatedSettlement = z.infer<typeof SimulatedSettlement>;

/** The requester that holds the sale of a simulated settlement. */
export interface SimulatedSale {
  readonly requester: string;
  readonly keyTag: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A simulated settlement and its sale. */
export interface Simulated {
  readonly settlement: SimulatedSettlement;
  readonly sale: SimulatedSale | undefined;
}

type Details = SimulatedSettlement['details'];

/** @returns `undefined` for what no wallet can have signed. */
export function simulatedDetailsOf({ claim, requirements }: Payment): Details | undefined {
  const { from, nonce, method, scheme = DEFAULT_SCHEME } = claim;
  if (from === undefined || nonce === undefined) return undefined;
  const signed = { ...claim, from, signature: claim.signature ?? '0x' } as const;
  const { chainId, asset, payTo, amount } = requirements;
  return {
    scheme,
    method,
    chainId,
    token: asset,
    payer: from,
    payTo,
    amount: amount.toString(),
    nonce: BigInt(nonce).toString(),
    deadline: actionOf(claim).deadlineOf(signed).toString(),
  };
}

/** A requester that does not exist. */
const ANOTHER: SimulatedSale = { requester: 'x-simulated', keyTag: '', at: 0 };

/** The state of a simulated settlement, in the form of a real one. */
export function viewOf(simulated: Simulated, now: number): SettlementView {
  const { settlement } = simulated;
  const { id, outcome, termsTag, isAsync, settledAmount, failure } = settlement;
  const sale = outcome === 'duplicate' ? ANOTHER : simulated.sale;
  const state = stateAt(simulated, now);
  return {
    id,
    state,
    termsTag,
    isAsync,
    isPaid: state === 'included' || state === 'finalized',
    signedTag: '',
    transaction: simulatedHashOf(id),
    reason:
      state === 'reverted' || state === 'expired'
        ? (failure as SettlementView['reason'])
        : undefined,
    blockNumber: undefined,
    logIndex: undefined,
    batchSize: undefined,
    settledAmount: settledAmount === undefined ? undefined : BigInt(settledAmount),
    sale: {
      state: sale === undefined ? 'open' : 'sold',
      requester: sale?.requester,
      soldKeyTag: sale?.keyTag,
      boundKeyTag: undefined,
    },
  };
}

function stateAt(
  { settlement: { outcome, begunAt }, sale }: Simulated,
  now: number,
): SettlementView['state'] {
  const landedAfter = (ms: number): SettlementView['state'] => {
    if (now < begunAt + ms) return 'broadcast';
    return now < begunAt + ms + FINAL_MS ? 'included' : 'finalized';
  };
  switch (outcome) {
    case 'pending':
      return landedAfter(PENDING_MS);
    case 'slow':
      return landedAfter(SLOW_MS);
    case 'timeout':
      return landedAfter(0);
    case 'reverted':
      return 'reverted';
    case 'expired':
      return 'expired';
    case 'duplicate':
      return 'finalized';
    case 'reorg': {
      const soldAt = sale?.at ?? now;
      if (now < soldAt + REORG_MS) return 'included';
      return now < soldAt + REORG_OVER_MS ? 'broadcast' : 'expired';
    }
  }
}

/** The look-up of a simulated settlement: the form of a real one, marked as simulated. */
export function simulatedStatusOf(simulated: Simulated, now: number): SettlementStatus {
  const { details, begunAt } = simulated.settlement;
  const view = viewOf(simulated, now);
  const whole = wholeDetails(details, view, begunAt);
  return { ...statusOf({ isLive: false, view, details: whole }), source: 'simulation' };
}

function wholeDetails(
  { scheme, method, chainId, token, payer, payTo, amount, nonce, deadline }: Details,
  { transaction }: SettlementView,
  begunAt: number,
): SettlementDetails | undefined {
  if (!isMethodName(method)) return undefined;
  return {
    scheme,
    method,
    chainId,
    token: token as SettlementDetails['token'],
    payer: payer as SettlementDetails['payer'],
    payTo: payTo as SettlementDetails['payTo'],
    amount: BigInt(amount),
    authorizationNonce: BigInt(nonce),
    deadline: BigInt(deadline),
    hashes: transaction === undefined ? [] : [transaction],
    blockHash: undefined,
    times: {
      arrived: begunAt,
      claimed: begunAt,
      allocated: undefined,
      included: undefined,
      finished: undefined,
    },
  };
}

/** For a payment that is a success at least at this finality. */
export function successView(view: SettlementView, finality: Finality): SettlementView {
  return finality === 'finalized' && view.state === 'included'
    ? { ...view, state: 'finalized' }
    : view;
}
