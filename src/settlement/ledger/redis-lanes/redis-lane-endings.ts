import { Inject, Injectable } from '@nestjs/common';
import type { Hex } from 'viem';
import { AppConfig } from '../../../platform/config/app-config.js';
import {
  redisCall,
  runTransaction,
  type ScriptArgument,
} from '../../../platform/redis/redis-scripts.js';
import { decodePayment } from '../../../protocol/payment/accepted-payment-codec.js';
import * as keys from '../keys.js';
import type {
  Ending,
  FinishResult,
  HeldLane,
  LaneEndings,
  ParkedSettlement,
  Parking,
  ParkReason,
  Unparking,
} from '../lane-store.js';
import { LedgerScripts } from '../ledger-scripts.js';
import { encodeFailed, encodeHash, readFailed, readSentBefore } from '../record.js';
import { asTexts } from '../reply.js';
import { type LedgerLifetimes, lifeOf } from '../settlement-store.js';
import { LANE_SCRIPTS } from './lane-scripts.js';

const REVERTS_KEPT_SECONDS = 600;
/** A parked settlement is reserved for this long for the process that examines it. */
const JUDGED_MS = 30_000;

/** {@link LaneEndings} in Redis. */
@Injectable()
export class RedisLaneEndings implements LaneEndings {
  constructor(
    private readonly scripts: LedgerScripts,
    @Inject(AppConfig) private readonly lifetimes: LedgerLifetimes,
  ) {}

  async finish(
    held: HeldLane,
    accountNonce: number | undefined,
    endings: readonly Ending[],
  ): Promise<FinishResult> {
    const reply = await this.scripts.runHeld(
      held,
      LANE_SCRIPTS.finish,
      endings.map(({ id }) => id),
      [accountNonce ?? '', ...lifeOf(this.lifetimes), ...endings.flatMap(endingArgs)],
    );
    return { resubmitted: asTexts(reply) };
  }

  async requeue(
    held: HeldLane,
    accountNonce: number,
    sinceBlock: bigint,
    ids: readonly string[],
  ): Promise<void> {
    if (ids.length === 0) return;
    await this.scripts.runHeld(held, LANE_SCRIPTS.requeue, ids, [
      accountNonce,
      sinceBlock.toString(),
    ]);
  }

  async park(
    held: HeldLane,
    accountNonce: number | undefined,
    sinceBlock: bigint,
    parkings: readonly Parking[],
  ): Promise<void> {
    await this.scripts.runHeld(
      held,
      LANE_SCRIPTS.park,
      parkings.map(({ id }) => id),
      [
        accountNonce ?? '',
        sinceBlock.toString(),
        ...parkings.flatMap(({ why, retryAtMs, failed }) => [
          why,
          retryAtMs,
          failed === undefined ? '' : encodeFailed(failed),
        ]),
      ],
    );
  }

  async dueParked(chainId: number, most: number): Promise<readonly ParkedSettlement[]> {
    const parked = keys.listKey(chainId, 'parked');
    const flat = asTexts(
      await this.scripts.run(chainId, {
        script: LANE_SCRIPTS.dueParked,
        keys: [parked],
        args: [most, JUDGED_MS],
      }),
    );
    const due: ParkedSettlement[] = [];
    for (let index = 0; index < flat.length; index += 7) {
      const [id = '', payment = '', why, tries, since = '0', hashes, failed = ''] = flat.slice(
        index,
        index + 7,
      );
      due.push({
        id,
        payment: decodePayment(payment),
        why: readParkReason(why),
        tries: Number(tries),
        sentBefore: {
          ...readSentBefore(since === '' ? '0' : since, hashes),
          ...(failed !== '' && { failed: readFailed(failed) }),
        },
      });
    }
    return due;
  }

  async parkedCount(chainId: number): Promise<number> {
    const parked = keys.listKey(chainId, 'parked');
    return redisCall('parkedCount', this.scripts.ledger.of(chainId).zcard(parked));
  }

  async unpark(chainId: number, unparkings: readonly Unparking[]): Promise<FinishResult> {
    const byId = new Map(unparkings.map((one) => [unparkedIdOf(one), one]));
    if (byId.size === 0) return { resubmitted: [] };
    const args = [...lifeOf(this.lifetimes), ...[...byId.values()].flatMap(unparkingArgs)];
    const own = keys.recordKeys(chainId, [...byId.keys()]);
    const call = { script: LANE_SCRIPTS.unpark, keys: own, args };
    return { resubmitted: asTexts(await this.scripts.run(chainId, call)) };
  }

  async credit(chainId: number, transaction: Hex, logIndex: number, id: string): Promise<boolean> {
    const key = keys.creditKey(chainId, encodeHash(transaction), logIndex);
    const { tombstoneSeconds } = this.lifetimes;
    const credited = await redisCall(
      'credit',
      this.scripts.ledger.of(chainId).set(key, id, 'EX', tombstoneSeconds, 'NX', 'GET'),
    );
    return credited === null || credited === id;
  }

  async noteRevert(chainId: number, blamed: readonly string[]): Promise<void> {
    const counting = this.scripts.ledger.of(chainId).multi();
    for (const one of blamed) {
      const key = keys.revertsKey(chainId, one);
      counting.incr(key).expire(key, REVERTS_KEPT_SECONDS);
    }
    await runTransaction('noteRevert', counting);
  }
}

function readParkReason(text: string | undefined): ParkReason {
  if (text === 'state_unreadable' || text === 'search_failed') return text;
  throw new TypeError('a parked record lacks its reason');
}

function endingArgs(ending: Ending): ScriptArgument[] {
  const { transaction, blockHash } = ending;
  return [
    ending.state,
    ending.isPaid ? '1' : '0',
    transaction === undefined ? '' : encodeHash(transaction),
    ending.blockNumber?.toString() ?? '',
    blockHash === undefined ? '' : encodeHash(blockHash),
    ending.logIndex ?? '',
    ending.batchSize ?? '',
    ending.reason ?? '',
  ];
}

const unparkedIdOf = (one: Unparking): string => (one.kind === 'ended' ? one.ending.id : one.id);

const NO_ENDING: readonly ScriptArgument[] = Array.from({ length: 8 }, () => '');

function unparkingArgs(unparking: Unparking): ScriptArgument[] {
  switch (unparking.kind) {
    case 'ended':
      return ['ended', ...endingArgs(unparking.ending)];
    case 'requeue':
      return ['requeue', ...NO_ENDING];
    case 'again':
      return ['again', unparking.why, unparking.retryAtMs, ...NO_ENDING.slice(2)];
  }
}
