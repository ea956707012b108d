import { Redis } from 'ioredis';
import type { Hex } from 'viem';
import { freePort } from '../../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../../sandbox/redis.js';
import { LedgerConnections } from '../../../src/platform/redis/ledger-connections.js';
import { LedgerEpochs } from '../../../src/settlement/ledger/epoch.js';
import { epochKey, laneKey, listKey, recordKey } from '../../../src/settlement/ledger/keys.js';
import type { HeldLane, LaneLedger } from '../../../src/settlement/ledger/lane-store.js';
import { LedgerScripts } from '../../../src/settlement/ledger/ledger-scripts.js';
import { RedisSettlementStore } from '../../../src/settlement/ledger/redis-settlement-store.js';
import { type ClaimRef, RESTATE_MS } from '../../../src/settlement/ledger/settlement-store.js';
import type { Attempt } from '../../../src/settlement/model/attempt.js';
import {
  CHAIN_ID,
  CONTRACT_GRACE_MS,
  CONTRACT_UNCLAIMED_MS,
  type StoreWorld,
} from '../../twins/settlement/ledger/settlement-store-contract.js';
import { redisLanes } from './redis-lanes.js';

export const LIMITS = {
  queueMax: 1000,
  retentionSeconds: 3600,
  tombstoneSeconds: 7200,
  saleGraceMs: CONTRACT_GRACE_MS,
  unclaimedAfterMs: CONTRACT_UNCLAIMED_MS,
};

export const NO_BUDGET = {
  costGwei: 1n,
  laneGwei: undefined,
  payeeGwei: undefined,
  day: '2026-11-21',
};

/** What lanes do to a real ledger, without a chain. */
export class LedgerWorld {
  #lanes = 0;
  /** Lanes in whose places payments are. */
  readonly #held = new Map<string, HeldLane>();
  readonly #bound = new Map<string, { readonly held: HeldLane; readonly nonce: number }>();

  private constructor(
    readonly server: SandboxRedis,
    readonly redis: Redis,
    readonly scripts: LedgerScripts,
    readonly store: RedisSettlementStore,
    readonly lanes: LaneLedger,
  ) {}

  get epochs(): LedgerEpochs {
    return this.scripts.epochs;
  }

  /**
   * @param hasOutbox - whether what changes is noted for a history.
   */
  static async start(server?: SandboxRedis, hasOutbox = false): Promise<LedgerWorld> {
    const running = server ?? (await startRedis(await freePort()));
    const redis = new Redis(running.url, {
      enableAutoPipelining: true,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      lazyConnect: true,
      commandTimeout: 2000,
    });
    redis.on('error', () => undefined);
    await redis.connect();
    const ledger = new LedgerConnections(redis);
    const epochs = new LedgerEpochs(ledger, hasOutbox);
    await epochs.start([CHAIN_ID]);
    const scripts = new LedgerScripts(ledger, epochs);
    const store = new RedisSettlementStore(scripts, LIMITS);
    return new LedgerWorld(running, redis, scripts, store, redisLanes(scripts, LIMITS));
  }

  /**
   * The next one on the same server, emptied: what another test did to its ledger, and the processes that lived in
   * it, are not of this one.
   */
  async anew(): Promise<LedgerWorld> {
    await this.redis.flushall();
    this.redis.disconnect();
    return LedgerWorld.start(this.server, this.epochs.hasOutbox);
  }

  async stop(): Promise<void> {
    this.redis.disconnect();
    await this.server.stop('SIGKILL');
  }

  /** A lane of its own, opened at account nonce 0. */
  async lane(processId = 'worker', signer?: string): Promise<HeldLane> {
    this.#lanes += 1;
    const own = `${this.#lanes.toString(16)}0`;
    const lane = `${CHAIN_ID}:${signer ?? `0x${own.padStart(40, '0')}`}`;
    const held = await this.lanes.leases.acquire(lane, CHAIN_ID, processId, 60_000);
    if (held === undefined) throw new Error('the lane is not free');
    const { next } = await this.lanes.leases.open(held);
    if (next === undefined) await this.lanes.leases.setNext(held, undefined, 0);
    return held;
  }

  /** Takes until this one is in the lane's hands; the others go back. Where the ledger just went back, nothing is taken. */
  async take(held: HeldLane, id: string): Promise<void> {
    await this.lanes.queue.ready(CHAIN_ID, [id]);
    let taken = await this.lanes.queue.take(held, 1000);
    for (let waited = 0; taken.length === 0 && waited < RESTATE_MS; waited += 100) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      taken = await this.lanes.queue.take(held, 1000);
    }
    await this.lanes.queue.giveBack(
      held,
      taken.map((one) => one.id).filter((one) => one !== id),
    );
  }

  async broadcast({ id }: ClaimRef, transaction: Hex, held?: HeldLane): Promise<void> {
    const sender = await this.redis.hget(this.#recordKey(id), 'sender');
    const lane = held ?? (await this.lane('worker', sender ?? undefined));
    await this.take(lane, id);
    const { next = 0 } = await this.lanes.leases.open(lane).then(async (opened) => {
      await this.take(lane, id);
      return opened;
    });
    const result = await this.lanes.attempts.allocate(
      lane,
      anAttempt(next, [id], transaction),
      NO_BUDGET,
    );
    if (result.kind !== 'ok') throw new Error(result.kind);
    this.#bound.set(id, { held: lane, nonce: next });
  }

  async include({ id }: ClaimRef): Promise<void> {
    const { held, nonce } = this.#boundOf(id);
    await this.lanes.attempts.include(held, nonce, BLOCK, 1, [{ id, logIndex: 3 }]);
  }

  async replaceBlock({ id }: ClaimRef): Promise<void> {
    const { held, nonce } = this.#boundOf(id);
    await this.lanes.attempts.uninclude(held, nonce, [id]);
  }

  async end({ id }: ClaimRef, state: 'finalized' | 'reverted'): Promise<void> {
    const { held, nonce } = this.#boundOf(id);
    const isPaid = state === 'finalized';
    await this.lanes.endings.finish(held, nonce, [{ id, state, isPaid }]);
    await this.lanes.attempts.closeAttempt(held, nonce, 0n);
  }

  async refuse({ id }: ClaimRef, reason: Parameters<StoreWorld['refuse']>[1]): Promise<void> {
    const held = this.#held.get(id) ?? (await this.#takeAlone(id));
    await this.lanes.queue.refuse(held, [{ id, reason }]);
  }

  async holdPlace({ id }: ClaimRef, ms: number): Promise<void> {
    const held = await this.#takeAlone(id);
    this.#held.set(id, held);
    await this.redis.zincrby(`${laneKey(CHAIN_ID, held.lane)}:work`, -ms, id);
  }

  async #takeAlone(id: string): Promise<HeldLane> {
    const held = await this.lane('worker');
    await this.take(held, id);
    return held;
  }

  /** As if a replica had been promoted that lacked this sale. */
  async goBackBeforeSale({ id }: ClaimRef, agoMs = 0): Promise<void> {
    await this.redis.hincrby(this.#recordKey(id), 't_claimed', -agoMs);
    await this.redis.hset(this.#recordKey(id), {
      sale: 'open',
      sold_to: '',
      sold_key: '',
      told: '',
    });
    const before = await this.epochs.of(CHAIN_ID);
    await this.redis.hset(epochKey(CHAIN_ID), 'run', 'another server');
    this.epochs.forget(CHAIN_ID, before);
    await this.epochs.of(CHAIN_ID);
    await this.redis.hincrby(epochKey(CHAIN_ID), 'at', -agoMs);
  }

  #recordKey(id: string): string {
    return recordKey(CHAIN_ID, id);
  }

  asStoreWorld(): StoreWorld {
    return {
      store: this.store,
      pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      broadcast: (ref, transaction) => this.broadcast(ref, transaction),
      include: (ref) => this.include(ref),
      replaceBlock: (ref) => this.replaceBlock(ref),
      finalize: (ref) => this.end(ref, 'finalized'),
      unclaimed: async () => {
        await this.lanes.queue.sweep(CHAIN_ID, 500);
        return this.redis.zrange(listKey(CHAIN_ID, 'unclaimed'), '0', '-1');
      },
      revert: (ref) => this.end(ref, 'reverted'),
      refuse: (ref, reason) => this.refuse(ref, reason),
      holdPlace: (ref, ms) => this.holdPlace(ref, ms),
      goBackBeforeSale: (ref, agoMs) => this.goBackBeforeSale(ref, agoMs),
    };
  }

  #boundOf(id: string): { readonly held: HeldLane; readonly nonce: number } {
    const bound = this.#bound.get(id);
    if (bound === undefined) throw new Error('it was not sent');
    return bound;
  }
}

export const BLOCK = {
  transaction: `0x${'5f'.repeat(32)}`,
  number: 7n,
  hash: `0x${'b7'.repeat(32)}`,
} as const;

export function anAttempt(
  accountNonce: number,
  settlementIds: readonly string[],
  hash: Hex = `0x${'5f'.repeat(32)}`,
): Attempt {
  return {
    accountNonce,
    kind: settlementIds.length === 0 ? 'noop' : settlementIds.length === 1 ? 'single' : 'batch',
    settlementIds,
    allocatedAtBlock: 5n,
    transactions: [
      {
        hash,
        raw: '0x02',
        maxFeePerGas: 1n,
        maxPriorityFeePerGas: 1n,
        gas: 21_000n,
        signedAt: Date.now(),
        isNoop: false,
      },
    ],
  };
}
