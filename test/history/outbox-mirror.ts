import { expect } from '@jest/globals';
import type { Redis } from 'ioredis';
import { ArchivedVersions } from '../../src/history/archived-versions.js';
import { LedgerConnections } from '../../src/platform/redis/ledger-connections.js';
import { LedgerEpochs } from '../../src/settlement/ledger/epoch.js';
import { outboxKey, recordKey } from '../../src/settlement/ledger/keys.js';
import { LedgerScripts } from '../../src/settlement/ledger/ledger-scripts.js';
import type { Change } from '../../src/settlement/ledger/outbox.js';
import { readRecorded } from '../../src/settlement/ledger/record.js';
import { RedisOutbox } from '../../src/settlement/ledger/redis-outbox.js';

const LEASE = { processId: 'mirror', leaseMs: 60_000 };

/** What an archiver knows who reads an outbox to its end, a few entries at a time. */
export class OutboxMirror {
  readonly known = new Map<string, Change>();

  readonly #outbox: RedisOutbox;
  readonly #archived = new ArchivedVersions();

  constructor(
    private readonly redis: Redis,
    private readonly chainId: number,
    epochs = new LedgerEpochs(new LedgerConnections(redis), true),
  ) {
    this.#outbox = new RedisOutbox(new LedgerScripts(new LedgerConnections(redis), epochs));
  }

  async catchUp(): Promise<void> {
    for (;;) {
      const at = await this.#outbox.now(this.chainId);
      const read = await this.#outbox.read(at, LEASE, 3);
      if (read.kind === 'held') throw new Error('another one reads it');
      if (read.last === undefined) return;
      // As the archiver does: what it leaves out must not be missed.
      const news = this.#archived.changed(at, read.changes);
      for (const change of news) {
        const before = this.known.get(change.id);
        const isNewer =
          before === undefined ||
          before.version.ms < change.version.ms ||
          (before.version.ms === change.version.ms &&
            before.version.sequence <= change.version.sequence);
        if (isNewer) this.known.set(change.id, change);
      }
      this.#archived.keep(at, news);
      await this.#outbox.trim(at, read.last);
    }
  }

  /** A store of the same ledger, each step of which is read before the next: none hides behind a later one. */
  following<T extends object>(store: T): T {
    return new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown => {
          const result: unknown = Reflect.apply(member, target, args);
          if (!(result instanceof Promise)) return result;
          return this.#caughtUpAfter(result);
        };
      },
    });
  }

  async #caughtUpAfter(step: Promise<unknown>): Promise<unknown> {
    const result: unknown = await step;
    await this.catchUp();
    return result;
  }

  /** Everything that is of the history is known as the ledger has it, and nothing else is known. */
  async expectLedger(except: ReadonlySet<string> = new Set()): Promise<void> {
    const prefix = recordKey(this.chainId, '');
    for (const key of await this.redis.keys(`${prefix}*`)) {
      const id = key.slice(prefix.length);
      if (except.has(id)) continue;
      const fields = new Map(Object.entries(await this.redis.hgetall(key)));
      const kept = (await this.redis.get(key.replace(':s:', ':d:'))) ?? '';
      const isOfHistory = ['tx', 'hashes', 'paid', 'async'].some(
        (name) => (fields.get(name) ?? '') !== '',
      );
      const change = this.known.get(id);
      if (!isOfHistory) {
        expect(change).toBeUndefined();
        continue;
      }
      expect({ id, ...change }).toMatchObject({ kind: 'recorded' });
      const settlement = change?.kind === 'recorded' ? change.settlement : undefined;
      expect(settlement).toEqual(readRecorded(id, fields, kept));
    }
    expect(await this.redis.xlen(outboxKey(this.chainId))).toBe(0);
  }
}
