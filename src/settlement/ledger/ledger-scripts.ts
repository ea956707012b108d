import { Injectable } from '@nestjs/common';
import { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import {
  runKeyedScript,
  type Script,
  type ScriptArgument,
  type ScriptReply,
} from '../../platform/redis/redis-scripts.js';
import { LeaseLostError, LedgerEpochChangedError } from '../../protocol/errors.js';
import { asEpochError, isLeaseError, LedgerEpochs } from './epoch.js';
import { epochKey, laneKey, outboxKey, recordKeys } from './keys.js';
import type { HeldLane } from './lane-store.js';

/**
 * A script with the keys and arguments that are its own: epoch key and epoch go before them, and the key of
 * the outbox after them where there is a history.
 */
interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly ScriptArgument[];
}

/** A ledger as it was at one epoch. */
export interface LedgerAt {
  readonly chainId: number;
  readonly epoch: string;
}

/**
 * Runs scripts of the ledger. Each names the epoch it believes in, and writes nothing in another one.
 *
 * @throws RedisUnavailableError from every method when Redis does not answer.
 */
@Injectable()
export class LedgerScripts {
  constructor(
    readonly ledger: LedgerConnections,
    readonly epochs: LedgerEpochs,
  ) {}

  /**
   * A step of a lane: its lease and the epoch it was acquired at are asserted.
   *
   * @param ids - of the settlements it is about.
   * @throws LeaseLostError when the lease is not ours any more, LedgerEpochChangedError: nothing was written.
   */
  async runHeld(
    { lane, chainId, lease, epoch }: HeldLane,
    script: Script,
    ids: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<ScriptReply> {
    const keys = [laneKey(chainId, lane), ...recordKeys(chainId, ids)];
    try {
      return await this.runAt({ chainId, epoch }, { script, keys, args: [lease, ...args] });
    } catch (error) {
      throw isLeaseError(error) ? new LeaseLostError(lane) : error;
    }
  }

  /** @throws LedgerEpochChangedError when the ledger is of another epoch now: nothing was written. */
  async runAt(at: LedgerAt, call: ScriptCall): Promise<ScriptReply> {
    // A connection that is new may lead to another server, whose ledger still says what it was before it went back.
    if ((await this.epochs.of(at.chainId)) !== at.epoch)
      throw new LedgerEpochChangedError(call.script.name);
    return this.#runIn(at, call);
  }

  async #runIn(at: LedgerAt, call: ScriptCall): Promise<ScriptReply> {
    const { script, keys, args } = call;
    const { chainId, epoch } = at;
    try {
      return await runKeyedScript(
        this.ledger.of(chainId),
        script,
        [epochKey(chainId), ...keys, ...(this.epochs.hasOutbox ? [outboxKey(chainId)] : [])],
        [epoch, ...args],
      );
    } catch (error) {
      const changed = asEpochError(script.name, error);
      if (changed === undefined) throw error;
      this.epochs.forget(chainId, epoch);
      throw changed;
    }
  }

  /**
   * Runs it at whichever epoch this process knows.
   *
   * @throws LedgerEpochChangedError when the ledger is of another epoch now: nothing was written.
   */
  async run(chainId: number, call: ScriptCall): Promise<ScriptReply> {
    return this.#runIn({ chainId, epoch: await this.epochs.of(chainId) }, call);
  }

  /** Repeats a call that was refused because the ledger's epoch had changed, in the present epoch. */
  async runAgain(chainId: number, call: ScriptCall): Promise<ScriptReply> {
    try {
      return await this.run(chainId, call);
    } catch (error) {
      if (!(error instanceof LedgerEpochChangedError)) throw error;
    }
    return this.run(chainId, call);
  }
}
