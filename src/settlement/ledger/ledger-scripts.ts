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
import { JointSteps } from './joint-steps.js';
import { epochKey, laneKey, outboxKey, recordKeys } from './keys.js';
import type { HeldLane } from './lane-store.js';
import type { JointScript, ScriptCall } from './script-files.js';

/** The ledger of a chain in one epoch. */
export interface LedgerAt {
  readonly chainId: number;
  readonly epoch: string;
}

/**
 * Runs scripts of the ledger. Each script names the expected epoch, and writes nothing in another one.
 *
 * @throws RedisUnavailableError from every method.
 */
@Injectable()
export class LedgerScripts {
  /** By script, then by chain. */
  readonly #joint = new Map<JointScript, Map<number, JointSteps>>();

  constructor(
    readonly ledger: LedgerConnections,
    readonly epochs: LedgerEpochs,
  ) {}

  /**
   * Runs a step of a lane, which asserts its lease and epoch.
   *
   * @param ids - the settlements of the step.
   * @throws LeaseLostError if this process no longer holds the lease, LedgerEpochChangedError: nothing was written.
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

  /** @throws LedgerEpochChangedError if the ledger is of another epoch: nothing was written. */
  async runAt(at: LedgerAt, call: ScriptCall): Promise<ScriptReply> {
    // A new connection may lead to another server with an older state and the same epoch.
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
   * Runs the script in the epoch that this process knows.
   *
   * @throws LedgerEpochChangedError if the ledger is of another epoch: nothing was written.
   */
  async run(chainId: number, call: ScriptCall): Promise<ScriptReply> {
    return this.#runIn({ chainId, epoch: await this.epochs.of(chainId) }, call);
  }

  /** {@link runAgain} of a joint script, together with other steps of it that are asked for at the same time. */
  runJointly(
    chainId: number,
    { script, keys, args }: ScriptCall & { readonly script: JointScript },
  ): Promise<ScriptReply> {
    const byChain = this.#joint.get(script) ?? new Map<number, JointSteps>();
    this.#joint.set(script, byChain);
    const steps =
      byChain.get(chainId) ?? new JointSteps(script, (call) => this.runAgain(chainId, call));
    byChain.set(chainId, steps);
    return steps.add(keys, args);
  }

  /** Runs the script, and once more in the new epoch if the epoch had changed. */
  async runAgain(chainId: number, call: ScriptCall): Promise<ScriptReply> {
    try {
      return await this.run(chainId, call);
    } catch (error) {
      if (!(error instanceof LedgerEpochChangedError)) throw error;
    }
    return this.run(chainId, call);
  }
}
