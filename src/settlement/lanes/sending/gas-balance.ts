import type { Address } from 'viem';
import type { Clock } from '../../../platform/concurrency/clock.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import { mostCostOf } from '../../model/attempt.js';
import type { LaneChain } from '../ports.js';
import type { TrackedAttempt } from '../state/tracked-attempt.js';

const READ_INTERVAL_MS = 2000;
/** A balance that was read this long ago is unknown. */
const KEPT_MS = 15_000;

/** The gas balance of one signer. */
export class GasBalance {
  #balanceWei: bigint | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #confirmedAt = Number.NEGATIVE_INFINITY;
  /** Whether one endpoint's value was too low, so that all have to agree. */
  #isInDoubt = false;

  constructor(
    private readonly chain: LaneChain,
    private readonly signer: Address,
    private readonly clock: Clock,
  ) {}

  get balanceWei(): bigint {
    return this.#balanceWei ?? 0n;
  }

  /**
   * Makes sure that the balance is known. A known one is refreshed in the background.
   *
   * @throws ChainUnavailableError when it is not known, or only from long ago.
   */
  async refresh(): Promise<void> {
    const age = this.clock.steady() - this.#readAt;
    if (age < READ_INTERVAL_MS) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    if (age < KEPT_MS) this.#reading.catch(ignoreUnavailable);
    else await this.#reading;
  }

  /**
   * Asks all endpoints when one endpoint's value would stop the lane.
   *
   * @throws ChainUnavailableError
   */
  async confirm(): Promise<void> {
    const own = this.balanceWei;
    this.#balanceWei = await this.chain.balanceByAll(this.signer);
    this.#isInDoubt = this.#balanceWei > own;
  }

  /** The same in the background; the caller will ask again. */
  confirmBeside(): void {
    const now = this.clock.steady();
    if (now - this.#confirmedAt < READ_INTERVAL_MS) return;
    this.#confirmedAt = now;
    this.confirm().catch(ignoreUnavailable);
  }

  async #read(): Promise<void> {
    const own = await this.chain.balance(this.signer);
    const believed = this.#isInDoubt ? await this.chain.balanceByAll(this.signer) : own;
    this.#isInDoubt = believed > own;
    this.#balanceWei = believed;
    this.#readAt = this.clock.steady();
  }

  /** The balance less the highest cost of all attempts in flight. An unknown balance counts as zero. */
  freeWei(inFlight: Iterable<TrackedAttempt>): bigint {
    let free = this.balanceWei;
    for (const { attempt } of inFlight) free -= mostCostOf(attempt);
    return free > 0n ? free : 0n;
  }

  /**
   * How many settlements the balance pays for.
   *
   * @param costWei - the cost of one settlement at the present price.
   */
  settlementsLeft(inFlight: Iterable<TrackedAttempt>, costWei: bigint): number {
    const free = this.freeWei(inFlight);
    if (free === 0n) return 0;
    return costWei === 0n ? Number.MAX_SAFE_INTEGER : Number(free / costWei);
  }
}

/** The error reaches the next caller, once the known balance has become too old. */
function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof ChainUnavailableError)) throw error;
}
