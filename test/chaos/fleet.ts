import type { Hex } from 'viem';
import { delay } from './client.js';
import type { Ledger, Replica } from './ledger.js';
import type { Forger } from './rpc-lies.js';
import { type Role, Slot, type Surroundings } from './slot.js';
import type { Verdict } from './tcp-proxy.js';

/**
 * A moment in the life of a settlement: `before` a step means that the step never reached Redis or
 * the node, `after` that it did and the process did not get the reply.
 */
export interface Moment {
  readonly when: 'before' | 'after';
  /** A script of the service, a statement that it sends to its database, or a JSON-RPC method. */
  readonly step: string;
}

export const describeMoment = ({ when, step }: Moment): string => `${when} ${step}`;

interface Ambush {
  readonly step: string;
  spring(): Verdict | Promise<Verdict>;
}

const PASS: Verdict = { kind: 'pass' };
/** By then Redis has done a script that was sent to it. */
const EXECUTED_MS = 5;

/** The processes of one deployment, each behind doors of its own to Redis and to the chain. */
export class Fleet {
  readonly slots: Slot[] = [];
  /** The moments that came while a fault waited for them. */
  readonly reached: string[] = [];
  #kill: { readonly moment: Moment; readonly tell: (slot: Slot) => void } | undefined;
  readonly #ambushes = new Set<Ambush>();

  constructor(
    private readonly surroundings: Surroundings,
    private readonly ledger: Ledger,
    private readonly onTransaction: (raw: Hex) => void,
    private readonly forge: Forger,
  ) {}

  async add(name: string, role: Role): Promise<Slot> {
    const slot = await Slot.open(name, role, this.surroundings);
    this.#watch(slot);
    await slot.start();
    this.slots.push(slot);
    return slot;
  }

  async remove(slot: Slot): Promise<void> {
    this.slots.splice(this.slots.indexOf(slot), 1);
    await slot.retire();
  }

  of(role: Role): Slot[] {
    return this.slots.filter((slot) => slot.role === role);
  }

  /** The first process to come to this moment is ended there. Resolves with it. */
  killAt(moment: Moment): Promise<Slot> {
    return new Promise((tell) => {
      this.#kill = { moment, tell };
    });
  }

  /**
   * The first process that makes this step never gets its reply. Resolves when the step was made.
   */
  swallow(step: string, silentMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#lieInWait(step, () => {
        resolve();
        this.reached.push(`reply swallowed: ${step}`);
        return { kind: 'swallow', silentMs };
      });
    });
  }

  /** Does something when a process is about to make this step, or has just made it. */
  at({ when, step }: Moment, work: () => Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      this.#lieInWait(step, async () => {
        this.reached.push(`something else: ${describeMoment({ when, step })}`);
        const done = (when === 'before' ? work() : delay(EXECUTED_MS).then(work)).finally(resolve);
        if (when === 'before') await done;
        return PASS;
      });
    });
  }

  /** All move over to a Redis that has missed some writes. */
  async failOver(replica: Replica, awayMs: number): Promise<void> {
    for (const { redis } of this.slots) redis.cut();
    await this.ledger.replaceBy(replica);
    await delay(awayMs);
    for (const { redis } of this.slots) redis.restore();
  }

  disarm(): void {
    this.#kill = undefined;
    this.#ambushes.clear();
  }

  heal(): void {
    this.disarm();
    for (const slot of this.slots) {
      slot.thaw();
      for (const rpc of slot.rpcs) rpc.fault = { kind: 'none' };
    }
  }

  async recovered(): Promise<void> {
    await Promise.all(this.slots.map((slot) => slot.recovered()));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.slots].map((slot) => this.remove(slot)));
  }

  #lieInWait(step: string, spring: () => Verdict | Promise<Verdict>): void {
    const ambush: Ambush = {
      step,
      spring: () => {
        this.#ambushes.delete(ambush);
        return spring();
      },
    };
    this.#ambushes.add(ambush);
  }

  #end(slot: Slot): void {
    const tell = this.#kill?.tell;
    this.#kill = undefined;
    slot.kill();
    tell?.(slot);
  }

  #watch(slot: Slot): void {
    const watchStep = (step: string): Verdict | Promise<Verdict> => {
      const moment = this.#kill?.moment;
      if (moment?.step === step) {
        this.reached.push(`killed: ${describeMoment(moment)}`);
        if (moment.when === 'before') {
          this.#end(slot);
          return { kind: 'withhold' };
        }
        // Stopped at once, it cannot act on the answer; a moment later Redis has done the step.
        const { tell } = this.#kill ?? {};
        this.#kill = undefined;
        slot.freeze();
        setTimeout(() => {
          slot.kill();
          tell?.(slot);
        }, 150);
        return PASS;
      }
      for (const ambush of this.#ambushes) if (ambush.step === step) return ambush.spring();
      return PASS;
    };
    slot.redis.watcher = watchStep;
    if (slot.database !== undefined) slot.database.watcher = watchStep;
    for (const rpc of slot.rpcs) {
      rpc.onTransaction = this.onTransaction;
      rpc.forge = this.forge;
      rpc.watcher = async (method, isDone) => {
        const moment = this.#kill?.moment;
        if (moment?.step !== method || (moment.when === 'after') !== isDone) return;
        this.#end(slot);
        // The process is gone; nothing of this exchange goes further.
        await delay(50);
        if (!isDone) throw new Error('the caller is gone');
      };
    }
  }
}
