import type { Hex } from 'viem';
import {
  type AuthorizationRef,
  findAuthorizationUse,
  isAuthorizationUsed,
  readBlockNumber,
} from '../chain/authorization-use.js';
import type { EvmChain } from '../chain/evm-chain.js';
import { within } from '../concurrency/timing.js';
import { ChainUnavailableError } from '../core/errors.js';
import { isUsedReason } from '../core/exact/used.js';
import type { Payment } from '../core/payment/payment.js';
import type { Reason } from '../core/reasons.js';

/** About three hours of BNB Chain: an authorization used earlier is refused without its hash. */
const LOOK_BACK_BLOCKS = 25_000n;
/** The refusal is known; its hash is worth waiting for this long. */
const PATIENCE_MS = 1500;

export interface UsedBy {
  readonly reason: Reason;
  readonly transaction: Hex | undefined;
}

/** Names the transaction that used an authorization before this service ever saw it. */
export class UsedAuthorizationFinder {
  /** @returns `undefined` when the reason is another one than that the authorization is used. */
  async find(payment: Payment, reason: Reason, chain: EvmChain): Promise<UsedBy | undefined> {
    const ref = refOf(payment);
    if (ref === undefined) return undefined;
    try {
      if (reason === 'permit2_simulation_failed') {
        const isUsed = await chain.withView((view) => isAuthorizationUsed(view, ref));
        if (isUsed !== true) return undefined;
        return { reason: 'permit2_invalid_nonce', transaction: await search(chain, ref) };
      }
      if (isUsedReason(reason)) {
        return { reason, transaction: await search(chain, ref) };
      }
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
    }
    return undefined;
  }
}

async function search(chain: EvmChain, ref: AuthorizationRef): Promise<Hex | undefined> {
  const head = await chain.withView(readBlockNumber);
  const found = await within(PATIENCE_MS, findAuthorizationUse(chain, ref, head, LOOK_BACK_BLOCKS));
  return found.inTime ? found.value?.transaction : undefined;
}

function refOf({ requirements, claim }: Payment): AuthorizationRef | undefined {
  const { asset, payTo, amount } = requirements;
  const { method, from: payer, nonce } = claim;
  if (payer === undefined || nonce === undefined) return undefined;
  return { method, asset, payer, nonce: BigInt(nonce), payTo, amount };
}
