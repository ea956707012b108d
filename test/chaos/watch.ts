import { delay } from './client.js';
import { readHealth } from './health.js';
import type { Stage } from './stage.js';

/** Nothing moves for this long, and no reason is reported. */
const STANDING_MS = 30_000;
const LOOK_EVERY_MS = 1000;
/** A process asks the chain for its head all the time; all other calls belong to requests. */
const IDLE_CALLS_A_SECOND = 40;
const CALLS_A_REQUEST = 150;
const IDLE_BYTES_A_SECOND = 100_000;
const BYTES_A_REQUEST = 200_000;

interface Traffic {
  readonly at: number;
  readonly calls: number;
  readonly bytes: number;
}

/** Looks at a deployment while something goes wrong, from outside. */
export class Watch {
  readonly #movedAt = new Map<string, number>();
  readonly #counts = new Map<string, number>();
  readonly #standing = new Set<string>();
  readonly #before: Traffic;
  #isOver = false;
  readonly #done: Promise<void>;

  constructor(private readonly stage: Stage) {
    this.#before = this.#traffic();
    this.#done = this.#look();
  }

  /**
   * @param requests - that were made meanwhile.
   * @returns what was not as it must be.
   */
  async end(requests: number): Promise<readonly string[]> {
    this.#isOver = true;
    await this.#done;
    return [...this.#standing, ...this.#waste(requests)];
  }

  async #look(): Promise<void> {
    while (!this.#isOver) {
      await Promise.all([this.#lookOnce().catch(() => undefined), delay(LOOK_EVERY_MS)]);
    }
  }

  async #lookOnce(): Promise<void> {
    const { signers, world } = this.stage;
    const health = await readHealth(this.stage);
    const now = Date.now();
    let moved = 0;
    for (const address of signers) {
      const count = await world.client.getTransactionCount({ address, blockTag: 'latest' });
      if (this.#counts.get(address) !== count) this.#movedAt.set(address, now);
      this.#counts.set(address, count);
      const lane = health?.lanes.find(
        ({ signer }) => signer.toLowerCase() === address.toLowerCase(),
      );
      const isIdle = lane?.inFlight === 0 && lane.gaps === 0;
      if (isIdle || health === undefined || health.codes.length > 0)
        this.#movedAt.set(address, now);
      const at = this.#movedAt.get(address) ?? now;
      moved = Math.max(moved, at);
      if (now - at > STANDING_MS) this.#standing.add(`lane ${address} stands and nobody says why`);
    }
    if (health === undefined || health.depth === 0 || health.codes.length > 0) {
      this.#movedAt.set('queue', now);
    }
    const queueMovedAt = Math.max(moved, this.#movedAt.get('queue') ?? now);
    if (now - queueMovedAt > STANDING_MS) this.#standing.add('work waits and nobody says why');
  }

  #traffic(): Traffic {
    const { slots } = this.stage.fleet;
    return {
      at: Date.now(),
      calls: slots.reduce(
        (sum, { rpcs }) => sum + rpcs.reduce((inner, rpc) => inner + rpc.calls, 0),
        0,
      ),
      bytes: slots.reduce((sum, { redis }) => sum + redis.bytes, 0),
    };
  }

  /** RPC calls and bytes to and from Redis that no request explains. */
  #waste(requests: number): readonly string[] {
    const now = this.#traffic();
    const processes = this.stage.fleet.slots.length;
    const seconds = ((now.at - this.#before.at) / 1000) * processes;
    const calls = now.calls - this.#before.calls;
    const bytes = now.bytes - this.#before.bytes;
    const waste: string[] = [];
    const callsMost = IDLE_CALLS_A_SECOND * seconds + CALLS_A_REQUEST * requests;
    if (calls > callsMost) waste.push(`${calls} RPC calls for ${requests} requests`);
    const bytesMost = IDLE_BYTES_A_SECOND * seconds + BYTES_A_REQUEST * requests;
    if (bytes > bytesMost) waste.push(`${bytes} bytes of Redis for ${requests} requests`);
    return waste;
  }
}
