import { Inject, Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/app-config.js';
import { redisCall } from '../../../platform/redis/redis-scripts.js';
import type { AcceptedPayment } from '../../../protocol/payment/accepted-payment.js';
import { decodePayment } from '../../../protocol/payment/accepted-payment-codec.js';
import { ALL_PLACES, type PlacesInUse } from '../../model/sponsoring-machine.js';
import * as keys from '../keys.js';
import type { HeldLane, LaneQueue, Refusal, SweepResult, TakenSettlement } from '../lane-store.js';
import { LedgerScripts } from '../ledger-scripts.js';
import { readSentBefore } from '../record.js';
import { asText, asTexts } from '../reply.js';
import { type LedgerLifetimes, lifeOf, RESTATE_MS } from '../settlement-store.js';
import { LANE_SCRIPTS } from './lane-scripts.js';

/** A queued settlement ends this long after its deadline, because clocks differ. */
const EXPIRES_AFTER_MS = 10_000;

/** {@link LaneQueue} in Redis. */
@Injectable()
export class RedisLaneQueue implements LaneQueue {
  constructor(
    private readonly scripts: LedgerScripts,
    @Inject(AppConfig)
    private readonly lifetimes: LedgerLifetimes & Pick<AppConfig, 'unclaimedAfterMs'>,
  ) {}

  async paymentsOf(
    chainId: number,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, AcceptedPayment>> {
    const redis = this.scripts.ledger.of(chainId);
    const reading = ids.map((id) => redis.hget(keys.recordKey(chainId, id), 'payment'));
    const texts = await redisCall('paymentsOf', Promise.all(reading));
    const payments = new Map<string, AcceptedPayment>();
    ids.forEach((id, index) => {
      const text = texts[index];
      if (text) payments.set(id, decodePayment(text));
    });
    return payments;
  }

  async finishedOf(chainId: number, ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return [];
    const live = keys.listKey(chainId, 'live');
    const redis = this.scripts.ledger.of(chainId);
    const claimedAt = await redisCall('finishedOf', redis.zmscore(live, ...ids));
    return ids.filter((_, index) => claimedAt[index] == null);
  }

  async ready(chainId: number, ids: readonly string[]): Promise<number> {
    const channel = keys.workChannel(chainId);
    if (ids.length === 0) return 0;
    const own = keys.recordKeys(chainId, ids);
    const call = { script: LANE_SCRIPTS.ready, keys: own, args: [channel] };
    return Number(asText(await this.scripts.run(chainId, call)));
  }

  async overdue(chainId: number, ageMs: number, most: number): Promise<readonly string[]> {
    const pending = keys.listKey(chainId, 'pending');
    const call = { script: LANE_SCRIPTS.overdue, keys: [pending], args: [ageMs, most] };
    return asTexts(await this.scripts.run(chainId, call));
  }

  async sweep(chainId: number, most: number): Promise<SweepResult> {
    const args = [
      most,
      keys.workChannel(chainId),
      EXPIRES_AFTER_MS,
      ...lifeOf(this.lifetimes),
      this.lifetimes.unclaimedAfterMs,
      RESTATE_MS,
    ];
    const lists = [keys.listKey(chainId, 'later'), keys.listKey(chainId, 'deadlines')];
    const [ready, ...expired] = asTexts(
      await this.scripts.run(chainId, { script: LANE_SCRIPTS.sweep, keys: lists, args }),
    );
    return { ready: Number(ready), expired };
  }

  async take(
    held: HeldLane,
    most: number,
    isRetiring = false,
    { free, held: heldPlaces }: PlacesInUse = ALL_PLACES,
  ): Promise<TakenSettlement[]> {
    const args = [most, isRetiring ? '1' : '', RESTATE_MS, free, ...[...heldPlaces].flat()];
    const flat = asTexts(await this.scripts.runHeld(held, LANE_SCRIPTS.take, [], args));
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
        isResubmitted: Number(again) > 0,
        ...(since !== '' && { sentBefore: readSentBefore(since, hashes) }),
      });
    }
    return taken;
  }

  async giveBack(held: HeldLane, ids: readonly string[], delayMs?: number): Promise<void> {
    if (ids.length > 0) {
      await this.scripts.runHeld(held, LANE_SCRIPTS.giveBack, ids, [delayMs ?? '', 0]);
    }
  }

  async postpone(held: HeldLane, ids: readonly string[], delayMs: number): Promise<void> {
    if (ids.length > 0) await this.scripts.runHeld(held, LANE_SCRIPTS.giveBack, ids, [delayMs, 1]);
  }

  async refuse(held: HeldLane, refusals: readonly Refusal[]): Promise<void> {
    if (refusals.length === 0) return;
    await this.scripts.runHeld(
      held,
      LANE_SCRIPTS.refuse,
      refusals.map(({ id }) => id),
      [...lifeOf(this.lifetimes), ...refusals.map(({ reason }) => reason)],
    );
  }
}
