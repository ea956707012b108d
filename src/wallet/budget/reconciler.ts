import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Hex } from 'viem';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { LOOK_BACK_BLOCKS } from '../../platform/chain/use-search/scan.js';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { addressWord } from '../../protocol/evm/abi-words.js';
import { AUTHORIZATION_USED_TOPIC, isTransferLog, type Transfer } from '../../protocol/evm/logs.js';
import type { AuthorizationRef } from '../../protocol/schemes/authorization-method.js';
import { Journal } from '../audit/journal.js';
import { bytes32Of } from '../rules/payment-message.js';
import { UpkeepLog } from '../upkeep-log.js';
import { dueKey } from '../wallet-keys.js';
import { WalletObserver } from '../wallet-observer.js';
import { WALLET_CLOCK, type WalletClock } from '../wallet-tokens.js';
import { type Due, readDue, writeDue } from './due.js';
import { isUsedNow, readFinalUse } from './final-use.js';
import { SpendingStore } from './spending-store.js';

const INTERVAL_MS = 5000;
const BATCH = 100;
/** A block after the deadline has to be final before it proves anything: about a second on BNB. */
const FINAL_AFTER_SECONDS = 3;
/** A spending without an outcome is looked up again after this time. */
const AGAIN_SECONDS = 30;

/** `open`: the chain can still execute it or does not answer, or two endpoints disagree. */
export type SpendingOutcome =
  | { readonly kind: 'open' }
  /** Executed in a block that is not final yet. */
  | { readonly kind: 'seen' }
  | { readonly kind: 'spent' }
  /** Proven by a final block after its deadline. */
  | { readonly kind: 'unspent'; readonly block: bigint };

/**
 * Looks up the outcome of spendings whose deadline has passed. A budget is released only when a
 * final block later than the deadline shows the authorization unused: nothing can execute it then.
 */
@Injectable()
export class Reconciler {
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;

  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly store: SpendingStore,
    private readonly chains: ChainRegistry,
    private readonly journal: Journal,
    @Inject(WalletObserver) private readonly observer: WalletObserver,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
    private readonly upkeep: UpkeepLog,
  ) {}

  start(): void {
    this.#timer = setInterval(() => void this.#tick(), INTERVAL_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Looks up one spending; a final outcome is written to budget and journal. */
  async look(due: Due): Promise<SpendingOutcome> {
    const outcome = await this.#outcomeOf(due);
    if (outcome.kind === 'open' || outcome.kind === 'seen' || !(await this.#isDue(due)))
      return outcome;
    const { wallet, spending } = due;
    // The charge is named, not only the authorization, because it may have been charged again since.
    const { id, deadline } = spending;
    const common = { at: this.now(), wallet, spending: id, deadline };
    if (outcome.kind === 'spent') {
      await this.journal.append({ event: 'spent', ...common });
      const isFirst = await redisCall('wallet_due', this.redis.zrem(dueKey(), writeDue(due)));
      if (isFirst === 1) this.observer.counted({ step: 'spent', spending });
    } else {
      const block = outcome.block.toString();
      await this.journal.append({ event: 'released', ...common, block });
      const isFirst = await this.store.release(due);
      if (isFirst) this.observer.counted({ step: 'released', spending });
    }
    return outcome;
  }

  /**
   * The transaction of a spending that was executed.
   *
   * @param claimed - the transaction that the seller named.
   * @returns `undefined` where the chain does not show it now.
   */
  async transactionOf(
    { wallet, spending }: Due,
    claimed: Hex | undefined,
  ): Promise<Hex | undefined> {
    const chain = this.chains.served(spending.chainId);
    if (chain === undefined || spending.method === 'transaction') return undefined;
    const { method, asset, nonce, payTo, amount } = spending;
    return useTransaction(chain, { method, asset, payer: wallet, nonce, payTo, amount }, claimed);
  }

  /** A final outcome is not looked up again, even if the payment is read often. */
  async #isDue(due: Due): Promise<boolean> {
    const score = await redisCall('wallet_due', this.redis.zscore(dueKey(), writeDue(due)));
    return score !== null;
  }

  async #tick(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      const now = this.now();
      const latest = now - FINAL_AFTER_SECONDS;
      const members = await this.redis.zrangebyscore(dueKey(), '-inf', latest, 'LIMIT', 0, BATCH);
      for (const member of members) {
        const due = readDue(member);
        const { kind } = due === undefined ? { kind: 'forged' } : await this.look(due);
        if (kind === 'open' || kind === 'seen')
          await this.redis.zadd(dueKey(), 'XX', now + AGAIN_SECONDS, member);
        if (kind === 'forged') await this.redis.zrem(dueKey(), member);
      }
    } catch (error) {
      this.upkeep.failed(error);
    } finally {
      this.#isRunning = false;
    }
  }

  async #outcomeOf({ wallet, spending }: Due): Promise<SpendingOutcome> {
    const chain = this.chains.served(spending.chainId);
    if (chain === undefined || spending.method === 'transaction') return { kind: 'open' };
    const { method, asset, nonce, payTo, amount, deadline } = spending;
    const ref = { method, asset, payer: wallet, nonce, payTo, amount };
    const found = await readFinalUse(chain.views(), ref);
    if (found.kind === 'disputed') {
      this.upkeep.failed(new Error('RPC endpoints disagree about a final block'));
    }
    if (found.kind !== 'known') return { kind: 'open' };
    if (found.isUsed) return { kind: 'spent' };
    // The local clock must agree, because nodes choose the time of a block.
    const isOver = found.block.timestamp > deadline && this.now() > deadline;
    if (isOver) return { kind: 'unspent', block: found.block.number };
    return { kind: (await isUsedNow(chain.views(), ref)) ? 'seen' : 'open' };
  }
}

type UsedTransfer = AuthorizationRef & Transfer;

/**
 * The transaction that used an authorization.
 *
 * @param claimed - the transaction that a seller named; returned only if the chain confirms it.
 * @returns `undefined` where it cannot be found now.
 */
async function useTransaction(
  chain: EvmChain,
  ref: UsedTransfer,
  claimed: Hex | undefined,
): Promise<Hex | undefined> {
  try {
    if (claimed !== undefined && (await hasUsed(chain, ref, claimed))) return claimed;
    const found = await chain.uses.find(ref, await chain.recentBlocks(LOOK_BACK_BLOCKS));
    return found.kind === 'found' ? found.use.transaction : undefined;
  } catch (error) {
    if (error instanceof ChainUnavailableError) return undefined;
    throw error;
  }
}

/** Permit2 leaves no event that names the nonce: an earlier payment of the same amount would look the same. */
async function hasUsed(chain: EvmChain, ref: UsedTransfer, hash: Hex): Promise<boolean> {
  if (ref.method !== 'eip3009') return false;
  const receipt = await chain.withView((view) => view.receipt(hash));
  const logs = receipt?.logs ?? [];
  const isUse = logs.some(
    ({ address, topics }) =>
      address === ref.asset &&
      topics[0] === AUTHORIZATION_USED_TOPIC &&
      topics[1] === `0x${addressWord(ref.payer)}` &&
      topics[2] === bytes32Of(ref.nonce),
  );
  return isUse && logs.some((log) => isTransferLog(log, ref));
}
