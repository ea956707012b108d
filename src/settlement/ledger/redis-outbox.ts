import { Injectable } from '@nestjs/common';
import {
  runKeyedScript,
  runTransaction,
  type ScriptReply,
} from '../../platform/redis/redis-scripts.js';
import { archiverKey, outboxKey } from './keys.js';
import { type LedgerAt, LedgerScripts } from './ledger-scripts.js';
import type {
  ArchiverLease,
  Backlog,
  ChangeVersion,
  NotedChange,
  Outbox,
  OutboxRead,
} from './outbox.js';
import { readRecorded } from './record.js';
import { asList, asPairs, asText } from './reply.js';
import { loadScript } from './script-files.js';

const SCRIPTS = {
  read: loadScript('read_outbox'),
  trim: loadScript('trim_outbox'),
  release: loadScript('release_archiver'),
};

/** {@link Outbox} in Redis. */
@Injectable()
export class RedisOutbox implements Outbox {
  constructor(private readonly scripts: LedgerScripts) {}

  async now(chainId: number): Promise<LedgerAt> {
    return { chainId, epoch: await this.scripts.epochs.of(chainId) };
  }

  async read(
    at: LedgerAt,
    { processId, leaseMs }: ArchiverLease,
    most: number,
  ): Promise<OutboxRead> {
    const reply = asList(
      await this.scripts.runAt(at, {
        script: SCRIPTS.read,
        keys: [archiverKey(at.chainId)],
        args: [processId, leaseMs, most],
      }),
    );
    if (asText(reply[0]) === 'held') return { kind: 'held' };
    const last = asText(reply[1]);
    const read = asList(reply[2]);
    const changes = read.flatMap((one) => readChange(asList(one)) ?? []);
    const known = new Set(changes.map(({ id }) => id));
    const gone = new Set(read.map((one) => asText(asList(one)[0])).filter((id) => !known.has(id)));
    return { kind: 'read', last: last === '' ? undefined : last, changes, gone: gone.size };
  }

  async trim(at: LedgerAt, last: string): Promise<void> {
    await this.scripts.runAt(at, { script: SCRIPTS.trim, keys: [], args: [last] });
  }

  async release(chainId: number, processId: string): Promise<void> {
    await runKeyedScript(
      this.scripts.ledger.of(chainId),
      SCRIPTS.release,
      [archiverKey(chainId)],
      [processId],
    );
  }

  async backlog(chainId: number): Promise<Backlog> {
    const key = outboxKey(chainId);
    const [entries, oldest, time] = await runTransaction(
      'backlog',
      this.scripts.ledger.of(chainId).multi().xlen(key).xrange(key, '-', '+', 'COUNT', 1).time(),
    );
    const [first] = oldest as readonly (readonly [string, readonly string[]])[];
    if (first === undefined) return { entries: 0, oldestMs: 0 };
    const [seconds, micros] = time as readonly [string | number, string | number];
    const now = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    return {
      entries: Number(entries),
      oldestMs: Math.max(0, now - readVersion(first[0]).ms),
    };
  }
}

/** @returns `undefined` if the record is deleted. */
function readChange(reply: readonly ScriptReply[]): NotedChange | undefined {
  const id = asText(reply[0]);
  const [version, noted] = [readVersion(asText(reply[1])), readVersion(asText(reply[4]))];
  const [record, kept] = [reply[2], asText(reply[3])];
  try {
    const flat = typeof record === 'string' ? (JSON.parse(record) as ScriptReply) : record;
    const settlement = readRecorded(id, asPairs(flat), kept);
    return settlement && { kind: 'recorded', id, version, noted, settlement };
  } catch {
    return { kind: 'unreadable', id, version, noted, text: JSON.stringify([record, kept]) };
  }
}

/** @param text - the id of an entry: `<ms>-<sequence>`. */
function readVersion(text: string): ChangeVersion {
  const [ms, sequence] = text.split('-').map(Number);
  if (!Number.isSafeInteger(ms) || !Number.isSafeInteger(sequence)) {
    throw new TypeError('an outbox entry has an id that is not a stream id');
  }
  return { ms: ms ?? 0, sequence: sequence ?? 0 };
}
