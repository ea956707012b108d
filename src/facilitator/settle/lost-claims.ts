import { Inject, Injectable, Optional } from '@nestjs/common';
import type { AuthorizationUse } from '../../platform/chain/authorization-use.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { delay } from '../../platform/concurrency/timing.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { PaymentIdentity } from '../../protocol/payment/identity.js';
import type { AuthorizationRef } from '../../protocol/schemes/authorization-method.js';
import { SETTLEMENT_STORE } from '../../settlement/ledger/ledger.module.js';
import { LaneQueries } from '../../settlement/ledger/queries/lane-queries.js';
import type { Requester } from '../../settlement/ledger/requester.js';
import type { ClaimRef, SettlementStore } from '../../settlement/ledger/settlement-store.js';
import type { SettlementView } from '../../settlement/model/settlement.js';

/** More than a minute of BNB Chain. The claim was made within this requester's time. */
const LOOK_BACK_BLOCKS = 1000n;
const AGAIN_MS = 250;

interface LostClaim {
  readonly ref: ClaimRef;
  readonly identity: PaymentIdentity;
  readonly requester: Requester;
  /** With payee and amount, because the use has to match exactly this payment. */
  readonly authorization: AuthorizationRef;
  readonly settledAmount: bigint | undefined;
  /** Milliseconds since the epoch; earlier after a shutdown has begun. */
  readonly deadlineAt: () => number;
}

/**
 * Claims that a requester of this process made or joined, and that the ledger lost afterwards. A payment sent by one of
 * our own signers is ours, even if the ledger no longer has it.
 */
@Injectable()
export class LostClaims {
  constructor(
    @Inject(SETTLEMENT_STORE) private readonly store: Pick<SettlementStore, 'adopt'>,
    @Inject(LaneQueries) private readonly laneQueries: Pick<LaneQueries, 'all'>,
    @Optional() private readonly now: () => number = Date.now,
  ) {}

  /**
   * Waits until the payment is final, then stores a record of it that is sold to this requester.
   *
   * @returns `not_yet` where the ledger still waits, at the end of the requester's time, for the answers of other
   *   processes; `undefined` where the payment is not ours, or the ledger has it for another requester.
   * @throws RedisUnavailableError
   */
  async adopt(claim: LostClaim, chain: EvmChain): Promise<SettlementView | 'not_yet' | undefined> {
    for (;;) {
      let isAwaited = false;
      try {
        const use = await finalUse(claim.authorization, chain);
        if (use !== undefined) {
          const adopted = await this.#adoptUse(claim, use, chain);
          if (adopted !== 'not_yet') return adopted;
          isAwaited = true;
        }
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
      }
      if (this.now() + AGAIN_MS > claim.deadlineAt()) return isAwaited ? 'not_yet' : undefined;
      await delay(AGAIN_MS);
    }
  }

  async #adoptUse(
    { ref, identity, requester, settledAmount }: LostClaim,
    { transaction, blockNumber, blockHash, logIndex }: AuthorizationUse,
    chain: EvmChain,
  ): Promise<SettlementView | 'not_yet' | undefined> {
    if (logIndex === undefined) return undefined;
    // The sender decides whether the payment is a success here, so two endpoints have to agree on it.
    const from = await chain.quorumRead({
      what: 'transaction sender',
      read: async (view) => {
        const value = (await view.transaction(transaction))?.from?.toLowerCase();
        return { value, key: String(value), subject: transaction };
      },
    });
    const lanes = await this.laneQueries.all();
    const isOurs = lanes.some(
      ({ chainId, signer }) => chainId === ref.chainId && signer.toLowerCase() === from,
    );
    if (!isOurs) return undefined;
    const { chainId, id } = ref;
    const adopted = await this.store.adopt(requester, {
      chainId,
      id,
      identity,
      settledAmount,
      transaction,
      blockNumber,
      blockHash,
      logIndex,
    });
    if (adopted.kind === 'sold') return adopted.view;
    return adopted.kind === 'not_yet' ? 'not_yet' : undefined;
  }
}

async function finalUse(
  ref: AuthorizationRef,
  chain: EvmChain,
): Promise<AuthorizationUse | undefined> {
  const final = await chain.currentFinalizedBlock();
  if (final === undefined) return undefined;
  const to = final.number;
  const from = to > LOOK_BACK_BLOCKS ? to - LOOK_BACK_BLOCKS : 0n;
  const outcome = await chain.uses.find(ref, { from, to });
  return outcome.kind === 'found' ? outcome.use : undefined;
}
