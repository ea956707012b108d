import type { Address, Hex } from 'viem';
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
  ParkedSettlement,
  Parking,
  ParkReason,
  Unparking,
} from '../lane-store.js';
import { encodeHash } from '../record.js';
import { asTexts } from '../reply.js';
import { LANE_SCRIPTS } from './lane-scripts.js';
import { type LaneStepRunner, recordKeys } from './lane-step-runner.js';
import { readSentBefore } from './sent-before.js';

const REVERTS_KEPT_SECONDS = 600;
/** A parked settlement is its judge's for this long. */
const JUDGED_MS = 30_000;

/** How the settlements of an attempt end, or are parked until that can be told. */
export class RedisLaneOutcomes {
  constructor(private readonly runner: LaneStepRunner) {}

  async finish(
    held: HeldLane,
    accountNonce: number | undefined,
    endings: readonly Ending[],
  ): Promise<FinishResult> {
    const reply = await this.runner.write(
      LANE_SCRIPTS.finish,
      held,
      endings.map(({ id }) => id),
      [accountNonce ?? '', ...this.runner.life, ...endings.flatMap(endingArgs)],
    );
    return { collectedAgain: asTexts(reply) };
  }

  async requeue(
    held: HeldLane,
    accountNonce: number,
    sinceBlock: bigint,
    ids: readonly string[],
  ): Promise<void> {
    if (ids.length === 0) return;
    await this.runner.write(LANE_SCRIPTS.requeue, held, ids, [accountNonce, sinceBlock.toString()]);
  }

  async park(
    held: HeldLane,
    accountNonce: number | undefined,
    sinceBlock: bigint,
    parkings: readonly Parking[],
  ): Promise<void> {
    await this.runner.write(
      LANE_SCRIPTS.park,
      held,
      parkings.map(({ id }) => id),
      [
        accountNonce ?? '',
        sinceBlock.toString(),
        ...parkings.flatMap(({ why, retryAtMs }) => [why, retryAtMs]),
      ],
    );
  }

  async dueParked(chainId: number, most: number): Promise<readonly ParkedSettlement[]> {
    const parked = keys.listKey(chainId, 'parked');
    const flat = asTexts(
      await this.runner.ask(LANE_SCRIPTS.dueParked, chainId, [parked], [most, JUDGED_MS]),
    );
    const due: ParkedSettlement[] = [];
    for (let index = 0; index < flat.length; index += 6) {
      const [id = '', payment = '', why, tries, since = '0', hashes] = flat.slice(index, index + 6);
      due.push({
        id,
        payment: decodePayment(payment),
        why: readParkReason(why),
        tries: Number(tries),
        sentBefore: readSentBefore(since === '' ? '0' : since, hashes),
      });
    }
    return due;
  }

  async parkedCount(chainId: number): Promise<number> {
    const parked = keys.listKey(chainId, 'parked');
    return redisCall('parkedCount', this.runner.ledger.of(chainId).zcard(parked));
  }

  async unpark(chainId: number, unparkings: readonly Unparking[]): Promise<FinishResult> {
    const byId = new Map(unparkings.map((one) => [unparkedIdOf(one), one]));
    if (byId.size === 0) return { collectedAgain: [] };
    const args = [...this.runner.life, ...[...byId.values()].flatMap(unparkingArgs)];
    const own = recordKeys(chainId, [...byId.keys()]);
    return {
      collectedAgain: asTexts(await this.runner.ask(LANE_SCRIPTS.unpark, chainId, own, args)),
    };
  }

  async credit(chainId: number, transaction: Hex, logIndex: number, id: string): Promise<boolean> {
    const key = keys.creditKey(chainId, encodeHash(transaction), logIndex);
    const { tombstoneSeconds } = this.runner.lifetimes;
    const credited = await redisCall(
      'credit',
      this.runner.ledger.of(chainId).set(key, id, 'EX', tombstoneSeconds, 'NX', 'GET'),
    );
    return credited === null || credited === id;
  }

  async noteRevert(chainId: number, payer: Address): Promise<void> {
    const key = keys.revertsKey(chainId, payer);
    await runTransaction(
      'noteRevert',
      this.runner.ledger.of(chainId).multi().incr(key).expire(key, REVERTS_KEPT_SECONDS),
    );
  }
}

function readParkReason(text: string | undefined): ParkReason {
  if (text === 'state_unreadable' || text === 'search_failed') return text;
  throw new TypeError('a parked record does not say why');
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
