import { redisCall } from '../../../platform/redis/redis-scripts.js';
import type { AcceptedPayment } from '../../../protocol/payment/accepted-payment.js';
import { decodePayment } from '../../../protocol/payment/accepted-payment-codec.js';
import { isFinishedStage } from '../../model/settlement-machine.js';
import { ALL_PLACES, type PlacesInUse } from '../../model/sponsoring-machine.js';
import * as keys from '../keys.js';
import type { HeldLane, Refusal, SweepResult, TakenSettlement } from '../lane-store.js';
import { readStage } from '../record.js';
import { asText, asTexts } from '../reply.js';
import { RESTATE_MS } from '../settlement-store.js';
import { LANE_SCRIPTS } from './lane-scripts.js';
import { type LaneStepRunner, recordKeys } from './lane-step-runner.js';
import { readSentBefore } from './sent-before.js';

/** A queued settlement ends this long after its deadline: clocks differ. */
const EXPIRES_AFTER_MS = 10_000;

/** The way of settlements from their claim into a lane, and back. */
export class RedisLaneQueue {
  constructor(private readonly runner: LaneStepRunner) {}

  async paymentsOf(
    chainId: number,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, AcceptedPayment>> {
    const texts = await redisCall('paymentsOf', this.#fieldsOf(chainId, ids, 'payment'));
    const payments = new Map<string, AcceptedPayment>();
    ids.forEach((id, index) => {
      const text = texts[index];
      if (text) payments.set(id, decodePayment(text));
    });
    return payments;
  }

  async finishedOf(chainId: number, ids: readonly string[]): Promise<readonly string[]> {
    const stages = await redisCall('finishedOf', this.#fieldsOf(chainId, ids, 'stage'));
    return ids.filter((_, index) => {
      const stage = stages[index];
      return stage == null || isFinishedStage(readStage(stage));
    });
  }

  async ready(chainId: number, ids: readonly string[]): Promise<number> {
    const channel = keys.workChannel(chainId);
    if (ids.length === 0) return 0;
    const own = recordKeys(chainId, ids);
    return Number(asText(await this.runner.ask(LANE_SCRIPTS.ready, chainId, own, [channel])));
  }

  async overdue(chainId: number, ageMs: number, most: number): Promise<readonly string[]> {
    const pending = keys.listKey(chainId, 'pending');
    return asTexts(await this.runner.ask(LANE_SCRIPTS.overdue, chainId, [pending], [ageMs, most]));
  }

  async sweep(chainId: number, most: number): Promise<SweepResult> {
    const args = [most, keys.workChannel(chainId), EXPIRES_AFTER_MS, ...this.runner.life];
    const lists = [keys.listKey(chainId, 'later'), keys.listKey(chainId, 'deadlines')];
    const [ready, ...expired] = asTexts(
      await this.runner.ask(LANE_SCRIPTS.sweep, chainId, lists, args),
    );
    return { ready: Number(ready), expired };
  }

  /** One field of each record, in the order of the ids. */
  #fieldsOf(
    chainId: number,
    ids: readonly string[],
    field: 'payment' | 'stage',
  ): Promise<(string | null)[]> {
    const redis = this.runner.ledger.of(chainId);
    return Promise.all(ids.map((id) => redis.hget(keys.recordKey(chainId, id), field)));
  }

  async take(
    held: HeldLane,
    most: number,
    isRetiring = false,
    { free, held: heldPlaces }: PlacesInUse = ALL_PLACES,
  ): Promise<TakenSettlement[]> {
    const args = [most, isRetiring ? '1' : '', RESTATE_MS, free, ...[...heldPlaces].flat()];
    const flat = asTexts(await this.runner.write(LANE_SCRIPTS.take, held, [], args));
    const taken: TakenSettlement[] = [];
    for (let index = 0; index < flat.length; index += 6) {
      const [id = '', payment = '', since = '', hashes, tries, again] = flat.slice(
        index,
        index + 6,
      );
      taken.push({
        id,
        payment: decodePayment(payment),
        goesAlone: since !== '',
        tries: Number(tries),
        isCollectedAgain: Number(again) > 0,
        ...(since !== '' && { sentBefore: readSentBefore(since, hashes) }),
      });
    }
    return taken;
  }

  async giveBack(held: HeldLane, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.runner.write(LANE_SCRIPTS.giveBack, held, ids, ['']);
  }

  async postpone(held: HeldLane, ids: readonly string[], delayMs: number): Promise<void> {
    if (ids.length > 0) await this.runner.write(LANE_SCRIPTS.giveBack, held, ids, [delayMs]);
  }

  async refuse(held: HeldLane, refusals: readonly Refusal[]): Promise<void> {
    if (refusals.length === 0) return;
    await this.runner.write(
      LANE_SCRIPTS.refuse,
      held,
      refusals.map(({ id }) => id),
      [...this.runner.life, ...refusals.map(({ reason }) => reason)],
    );
  }
}
