import type { LedgerConnections } from '../../../platform/redis/ledger-connections.js';
import type { LedgerId, Partitions } from '../../../platform/redis/partitions.js';
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

  get partitions(): Partitions {
    return this.ledger.partitions;
  }

  /** The ledger that a lane is at home in. */
  homeOf({ chainId, lane }: Pick<HeldLane, 'chainId' | 'lane'>): LedgerId {
    return this.partitions.ofLane(chainId, lane);
  }

  /** The step that begins a lease: the epoch it ran at goes into the lease. */
  async acquire(
    lane: string,
    chainId: number,
    processId: string,
    leaseMs: number,
  ): Promise<HeldLane | undefined> {
    const home = this.homeOf({ chainId, lane });
    const epoch = await this.epochs.of(home);
    const lease = asText(
      await this.#scripts.runAt(
        { ...home, epoch },
        {
          script: LANE_SCRIPTS.acquire,
          keys: [laneLeaseKey(home, lane)],
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
    const { lane, lease, epoch } = held;
    const home = this.homeOf(held);
    const own = [laneKey(home, lane), ...recordKeys(home, ids)];
    try {
      return await this.#scripts.runAt(
        { ...home, epoch },
        { script, keys: own, args: [lease, ...args] },
      );
    } catch (error) {
      throw isLeaseError(error) ? new LeaseLostError(lane) : error;
    }
  }

  /** A step of a ledger that needs no lane: of whichever epoch it is. */
  ask(
    script: Script,
    ledger: LedgerId,
    own: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<ScriptReply> {
    return this.#scripts.run(ledger, { script, keys: own, args });
  }

  /** Asks every partition of a chain, at once. @returns what those said that answered, one at least. */
  askEach<T>(chainId: number, question: (ledger: LedgerId) => Promise<T>): Promise<T[]> {
    return answersOf(this.partitions.all(chainId).map(question));
  }

  /** Asks each partition for what it has of these settlements, likewise. */
  askFor<T>(
    chainId: number,
    ids: readonly string[],
    question: (ledger: LedgerId, own: readonly string[]) => Promise<T>,
  ): Promise<T[]> {
    const asked = this.partitions.byLedger(chainId, ids);
    return answersOf(asked.map(([ledger, own]) => question(ledger, own)));
  }

  onEpochChange(listener: () => void): () => void {
    return this.epochs.onChange(listener);
  }
}

/** What one partition cannot say keeps nothing from the others. @throws what the first threw, where none answered. */
async function answersOf<T>(asked: readonly Promise<T>[]): Promise<T[]> {
  const answers = await Promise.allSettled(asked);
  const said = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = answers.find((one) => one.status === 'rejected');
  if (said.length === 0 && failed !== undefined) throw failed.reason;
  return said;
}

export function recordKeys(ledger: LedgerId, ids: readonly string[]): string[] {
  return ids.map((id) => recordKey(ledger, id));
}
