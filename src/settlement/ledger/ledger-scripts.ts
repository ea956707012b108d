import type { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import {
  runKeyedScript,
  type Script,
  type ScriptArgument,
  type ScriptReply,
} from '../../platform/redis/redis-scripts.js';
import { LedgerEpochChangedError } from '../../protocol/errors.js';
import { asEpochError, type LedgerEpochs } from './epoch.js';
import { epochKey, outboxKey } from './keys.js';

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
export class LedgerScripts {
  constructor(
    private readonly ledger: LedgerConnections,
    private readonly epochs: LedgerEpochs,
  ) {}

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

  /** What a ledger of another epoch refused is asked again, of the epoch that it is now. */
  async runAgain(chainId: number, call: ScriptCall): Promise<ScriptReply> {
    try {
      return await this.run(chainId, call);
    } catch (error) {
      if (!(error instanceof LedgerEpochChangedError)) throw error;
    }
    return this.run(chainId, call);
  }
}
