import type { LedgerConnections } from '../../../platform/redis/ledger-connections.js';
import type { Script, ScriptArgument, ScriptReply } from '../../../platform/redis/redis-scripts.js';
import { LeaseLostError } from '../../../protocol/errors.js';
import { isLeaseError, type LedgerEpochs } from '../epoch.js';
import { laneKey, laneLeaseKey, recordKey } from '../keys.js';
import type { HeldLane } from '../lane-store.js';
import { LedgerScripts } from '../ledger-scripts.js';
import { asText } from '../reply.js';
import { LANE_SCRIPTS } from './lane-scripts.js';

export interface LedgerLifetimes {
  readonly retentionSeconds: number;
  readonly tombstoneSeconds: number;
}

/** Runs the steps of lanes in Redis; `LaneStore` says what they throw. */
export class LaneStepRunner {
  readonly #scripts: LedgerScripts;

  constructor(
    readonly ledger: LedgerConnections,
    private readonly epochs: LedgerEpochs,
    readonly lifetimes: LedgerLifetimes,
  ) {
    this.#scripts = new LedgerScripts(ledger, epochs);
  }

  /** How long a finished record and its details are kept, as scripts take it. */
  get life(): readonly [tombstone: number, retention: number] {
    return [this.lifetimes.tombstoneSeconds, this.lifetimes.retentionSeconds];
  }

  /** The step that begins a lease: the epoch it ran at goes into the lease. */
  async acquire(
    lane: string,
    chainId: number,
    processId: string,
    leaseMs: number,
  ): Promise<HeldLane | undefined> {
    const epoch = await this.epochs.of(chainId);
    const lease = asText(
      await this.#scripts.runAt(
        { chainId, epoch },
        {
          script: LANE_SCRIPTS.acquire,
          keys: [laneLeaseKey(chainId, lane)],
          args: [processId, leaseMs],
        },
      ),
    );
    return lease === '' ? undefined : { lane, chainId, lease, epoch };
  }

  /** A step of a lane: its lease and the epoch it was acquired at are asserted. */
  async write(
    script: Script,
    held: HeldLane,
    ids: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<ScriptReply> {
    const { lane, chainId, lease, epoch } = held;
    const own = [laneKey(chainId, lane), ...recordKeys(chainId, ids)];
    try {
      return await this.#scripts.runAt(
        { chainId, epoch },
        { script, keys: own, args: [lease, ...args] },
      );
    } catch (error) {
      throw isLeaseError(error) ? new LeaseLostError(lane) : error;
    }
  }

  /** A step of a ledger that needs no lane: of whichever epoch it is. */
  ask(
    script: Script,
    chainId: number,
    own: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<ScriptReply> {
    return this.#scripts.run(chainId, { script, keys: own, args });
  }

  onEpochChange(listener: () => void): () => void {
    return this.epochs.onChange(listener);
  }
}

export function recordKeys(chainId: number, ids: readonly string[]): string[] {
  return ids.map((id) => recordKey(chainId, id));
}
