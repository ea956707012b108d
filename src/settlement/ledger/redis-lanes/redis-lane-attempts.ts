import { Inject, Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { AppConfig } from '../../../platform/config/app-config.js';
import { redisCall, type ScriptArgument } from '../../../platform/redis/redis-scripts.js';
import { LeaseLostError } from '../../../protocol/errors.js';
import {
  type Attempt,
  encodeAttempt,
  type KnownFunding,
  newestTransactionOf,
} from '../../model/attempt.js';
import { WEI_PER_GWEI } from '../../model/gas-price.js';
import { listKey } from '../keys.js';
import type {
  AllocateResult,
  FillResult,
  FundResult,
  GasBudget,
  HeldLane,
  InclusionBlock,
  LaneAttempts,
  PaidItem,
  ReplaceResult,
} from '../lane-store.js';
import { LedgerScripts } from '../ledger-scripts.js';
import { encodeHash } from '../record.js';
import { asTexts } from '../reply.js';
import type { LedgerLifetimes } from '../settlement-store.js';
import { LANE_SCRIPTS } from './lane-scripts.js';

/** {@link LaneAttempts} in Redis. */
@Injectable()
export class RedisLaneAttempts implements LaneAttempts {
  constructor(
    private readonly scripts: LedgerScripts,
    @Inject(AppConfig) private readonly lifetimes: LedgerLifetimes,
  ) {}

  async allocate(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<AllocateResult> {
    const [kind, ...rest] = asTexts(
      await this.scripts.runHeld(
        held,
        LANE_SCRIPTS.allocate,
        attempt.settlementIds,
        this.#attemptArgs(attempt, budget),
      ),
    );
    if (kind === 'ok' || kind === 'nonce' || kind === 'paused') return { kind };
    if (kind === 'gone') return { kind, ids: rest };
    if (kind === 'budget') return { kind, subject: rest[0] ?? '' };
    throw new TypeError(`unexpected reply of the script allocate: ${kind ?? 'nothing'}`);
  }

  async fund(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FundResult> {
    const { funding } = attempt;
    if (funding === undefined) throw new TypeError('a funding attempt has no payer');
    const [kind, ...rest] = asTexts(
      await this.scripts.runHeld(
        held,
        LANE_SCRIPTS.fund,
        [funding.settlementId],
        [
          attempt.accountNonce,
          encodeAttempt(attempt),
          funding.payer,
          funding.payerNonce,
          ...budgetArgs(budget),
        ],
      ),
    );
    if (kind === 'ok' || kind === 'nonce' || kind === 'paused' || kind === 'funded')
      return { kind };
    if (kind === 'gone') return { kind, ids: rest };
    if (kind === 'budget') return { kind, subject: rest[0] ?? '' };
    throw new TypeError(`unexpected reply of the script fund: ${kind ?? 'nothing'}`);
  }

  async fundingOf(chainId: number, payer: Address): Promise<KnownFunding | undefined> {
    const reply = this.scripts.ledger.of(chainId).hget(listKey(chainId, 'funded'), payer);
    const known = await redisCall('fundingOf', reply);
    if (known === null) return undefined;
    const [nonce, how] = known.split(':');
    return { payerNonce: Number(nonce), isDone: how === 'done' };
  }

  async replace(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<ReplaceResult> {
    const [kind, subject = ''] = asTexts(
      await this.scripts.runHeld(
        held,
        LANE_SCRIPTS.replace,
        attempt.settlementIds,
        this.#attemptArgs(attempt, budget),
      ),
    );
    if (kind === 'ok') return { kind };
    if (kind === 'budget') return { kind, subject };
    throw new LeaseLostError(held.lane);
  }

  async fillGap(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FillResult> {
    const [kind, subject = ''] = asTexts(
      await this.scripts.runHeld(
        held,
        LANE_SCRIPTS.fillGap,
        [],
        [
          attempt.accountNonce,
          encodeAttempt(attempt),
          budget.costGwei.toString(),
          budget.laneGwei?.toString() ?? '',
          budget.day,
        ],
      ),
    );
    if (kind === 'ok' || kind === 'lost') return { kind };
    if (kind === 'budget') return { kind, subject };
    throw new TypeError(`unexpected reply of the script fill_gap: ${kind ?? 'nothing'}`);
  }

  async closeAttempt(held: HeldLane, accountNonce: number, costWei: bigint): Promise<void> {
    const costGwei = (costWei + WEI_PER_GWEI - 1n) / WEI_PER_GWEI;
    await this.scripts.runHeld(
      held,
      LANE_SCRIPTS.closeAttempt,
      [],
      [accountNonce, costGwei.toString()],
    );
  }

  async include(
    held: HeldLane,
    accountNonce: number,
    block: InclusionBlock,
    batchSize: number,
    items: readonly PaidItem[],
  ): Promise<void> {
    await this.scripts.runHeld(
      held,
      LANE_SCRIPTS.include,
      items.map(({ id }) => id),
      [
        accountNonce,
        encodeHash(block.transaction),
        block.number.toString(),
        encodeHash(block.hash),
        batchSize,
        ...items.map(({ logIndex }) => logIndex ?? ''),
      ],
    );
  }

  async uninclude(held: HeldLane, accountNonce: number, ids: readonly string[]): Promise<void> {
    if (ids.length > 0)
      await this.scripts.runHeld(held, LANE_SCRIPTS.uninclude, ids, [accountNonce]);
  }

  #attemptArgs(attempt: Attempt, budget: GasBudget): ScriptArgument[] {
    const { hash, isNoop } = newestTransactionOf(attempt);
    return [
      attempt.accountNonce,
      encodeAttempt(attempt),
      isNoop ? '' : encodeHash(hash),
      this.lifetimes.retentionSeconds,
      ...budgetArgs(budget),
    ];
  }
}

function budgetArgs({ costGwei, laneGwei, payeeGwei, fundingsGwei, day }: GasBudget): string[] {
  const limit = (gwei: bigint | undefined): string => gwei?.toString() ?? '';
  return [costGwei.toString(), limit(laneGwei), limit(payeeGwei), day, limit(fundingsGwei)];
}
