import type { Head } from '../chain/head-watcher.js';
import { isUsedReason } from '../core/exact/used.js';
import type { Reason } from '../core/reasons.js';
import type { Ending, HeldLane, LaneLedger, TakenSettlement } from '../ledger/lane-ledger.js';
import type { FailureJudge } from './failure-judge.js';

interface Suspect {
  readonly taken: TakenSettlement;
  /** The block at which it was found used, or an older one. */
  readonly sinceBlock: bigint;
}

/**
 * Settlements that were sent before, whose attempts are dead, and that turned out to be used when they
 * should have been sent again. Somebody may have copied them, and then the payee has its money: nothing
 * is said of them before a final block tells.
 */
export class UsedSuspects {
  readonly #suspects = new Map<string, Suspect>();

  constructor(
    private readonly ledger: LaneLedger,
    private readonly judge: FailureJudge,
    private readonly onFinished: (ids: readonly string[]) => void,
  ) {}

  get size(): number {
    return this.#suspects.size;
  }

  /** Forgets all: a lane that is opened anew finds them among the settlements it takes. */
  clear(): void {
    this.#suspects.clear();
  }

  /** @returns whether the refusal of this settlement has to wait for finality. */
  holds(taken: TakenSettlement, reason: Reason, blockNumber: bigint): boolean {
    if (taken.sentBefore === undefined || !isUsedReason(reason)) return false;
    this.#suspects.set(taken.id, { taken, sinceBlock: blockNumber });
    return true;
  }

  /** @throws ChainUnavailableError, LeaseLostError, LedgerUnavailableError. It may be repeated. */
  async follow(held: HeldLane, { finalized }: Head): Promise<void> {
    if (finalized === undefined) return;
    for (const [id, { taken, sinceBlock }] of this.#suspects) {
      const { payment, sentBefore } = taken;
      if (sentBefore === undefined) continue;
      const verdict = await this.judge.judgeAgain(id, payment, sentBefore, finalized);
      if (verdict.kind === 'ended') await this.#end(held, verdict.ending);
      // The block that showed it used is gone: it can be sent after all.
      else if (finalized.number > sinceBlock) await this.#giveBack(held, id);
    }
  }

  async #end(held: HeldLane, ending: Ending): Promise<void> {
    await this.ledger.finish(held, undefined, [ending]);
    this.#suspects.delete(ending.id);
    this.onFinished([ending.id]);
  }

  async #giveBack(held: HeldLane, id: string): Promise<void> {
    await this.ledger.giveBack(held, [id]);
    this.#suspects.delete(id);
  }
}
