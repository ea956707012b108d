import { Injectable } from '@nestjs/common';
import { TickCoalescer } from '../../platform/concurrency/tick-coalescer.js';
import { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import {
  runKeyedScript,
  type Script,
  type ScriptArgument,
  type ScriptReply,
} from '../../platform/redis/redis-scripts.js';
import {
  LeaseLostError,
  LedgerEpochChangedError,
  RedisUnavailableError,
} from '../../protocol/errors.js';
import { asEpochError, isLeaseError, LedgerEpochs } from './epoch.js';
import { epochKey, laneKey, outboxKey, recordKeys } from './keys.js';
import type { HeldLane } from './lane-store.js';
import { asList, asText } from './reply.js';
import type { JointScript, ScriptCall } from './script-files.js';

/** Steps of one call. While a script runs, Redis does nothing else. */
const STEPS_MOST = 32;

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

// ---------------------------------------------------------------- joint

interface Step {
  readonly keys: readonly string[];
  readonly args: readonly ScriptArgument[];
  readonly resolve: (reply: ScriptReply) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Steps of one script on one ledger. Those of one turn of the event loop share a call, so that what a call costs in Redis
 * is paid once for all of them. They run one after another, as if each had come by itself.
 */
export class JointSteps {
  #waiting: Step[] = [];
  readonly #turnEnd = new TickCoalescer(() => {
    this.#flush();
  });

  constructor(
    private readonly script: JointScript,
    private readonly run: (call: ScriptCall) => Promise<ScriptReply>,
  ) {}

  /** Fails as the call does, or as its own step does. */
  add(keys: readonly string[], args: readonly ScriptArgument[]): Promise<ScriptReply> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ keys, args, resolve, reject });
      this.#turnEnd.schedule();
    });
  }

  #flush(): void {
    const steps = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < steps.length; from += STEPS_MOST) {
      void this.#send(steps.slice(from, from + STEPS_MOST));
    }
  }

  async #send(steps: readonly Step[]): Promise<void> {
    try {
      const keys = steps.flatMap((step) => step.keys);
      const args = steps.flatMap((step) => [step.keys.length, step.args.length, ...step.args]);
      const call = { script: this.script, keys, args: [steps.length, ...args] };
      const replies = asList(await this.run(call));
      for (const [index, step] of steps.entries()) this.#settle(step, replies[index]);
    } catch (error) {
      for (const step of steps) step.reject(error);
    }
  }

  #settle({ resolve, reject }: Step, reply: ScriptReply | undefined): void {
    const [isDone, value = null] = asList(reply);
    if (isDone === 1) resolve(value);
    else reject(new RedisUnavailableError(this.script.name, asText(value)));
  }
}
