import { ledgerTag } from '../../platform/redis/hash-slot.js';
import type { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import type { LedgerId } from '../../platform/redis/partitions.js';
import {
  runKeyedScript,
  type Script,
  type ScriptArgument,
  type ScriptReply,
} from '../../platform/redis/redis-scripts.js';
import type { ScriptGroups } from '../../platform/redis/script-groups.js';
import { LedgerEpochChangedError } from '../../protocol/errors.js';
import { asEpochError, type LedgerEpochs } from './epoch.js';
import { epochKey, outboxKey } from './keys.js';

/**
 * A script with the keys and arguments that are its own: epoch key and epoch go before them, and the key of
 * the outbox after them where there is a history.
 */
export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly ScriptArgument[];
}

/** A ledger as it was at one epoch. */
export interface LedgerAt extends LedgerId {
  readonly epoch: string;
}

/**
 * Runs scripts of the ledger. Each names the epoch it believes in, and writes nothing in another one.
 *
 * @throws RedisUnavailableError from every method when Redis does not answer.
 */
export class LedgerScripts {
  /** @param groups - where steps of many settlements share a call; without it each is one of its own. */
  constructor(
    private readonly ledger: LedgerConnections,
    private readonly epochs: LedgerEpochs,
    private readonly groups?: ScriptGroups,
  ) {}

  /** @throws LedgerEpochChangedError when the ledger is of another epoch now: nothing was written. */
  async runAt(at: LedgerAt, call: ScriptCall): Promise<ScriptReply> {
    const { script } = call;
    const { epoch } = at;
    const keys = [epochKey(at), ...call.keys, ...(this.epochs.hasOutbox ? [outboxKey(at)] : [])];
    const args = [epoch, ...call.args];
    const redis = this.ledger.of(at);
    try {
      return await (this.groups === undefined
        ? runKeyedScript(redis, script, keys, args)
        : this.groups.run(redis, ledgerTag(at), { script, keys, args }));
    } catch (error) {
      const changed = asEpochError(script.name, error);
      if (changed === undefined) throw error;
      this.epochs.forget(at, epoch);
      throw changed;
    }
  }

  /**
   * Runs it at whichever epoch this process knows.
   *
   * @throws LedgerEpochChangedError when the ledger is of another epoch now: nothing was written.
   */
  async run(ledger: LedgerId, call: ScriptCall): Promise<ScriptReply> {
    const epoch = this.epochs.known(ledger) ?? (await this.epochs.of(ledger));
    const { chainId, partition } = ledger;
    return this.runAt({ chainId, partition, epoch }, call);
  }

  /** What a ledger of another epoch refused is asked again, of the epoch that it is now. */
  async runAgain(ledger: LedgerId, call: ScriptCall): Promise<ScriptReply> {
    try {
      return await this.run(ledger, call);
    } catch (error) {
      if (!(error instanceof LedgerEpochChangedError)) throw error;
    }
    return this.run(ledger, call);
  }
}
