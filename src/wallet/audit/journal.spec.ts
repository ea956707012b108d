import { appendFile, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Secret } from '../../platform/config/secret.js';
import { RecordSeal } from '../seal/record-seal.js';
import { WalletStorageError } from '../wallet-error.js';
import { Journal } from './journal.js';
import type { JournalAnchor } from './journal-anchor.js';
import type { JournalEvent } from './journal-record.js';

const NOW = 1_800_000_000;
const LATER = NOW + 1_000_000;

/** One that its number identifies. */
const event = (number: number, more: Partial<JournalEvent> = {}): JournalEvent =>
  ({
    event: 'token_revoked',
    at: number,
    token: `t${number}`,
    until: LATER,
    ...more,
  }) as JournalEvent;

class MemoryAnchor implements JournalAnchor {
  readonly lines = new Map<string, number>();

  leastLines(): Promise<ReadonlyMap<string, number>> {
    return Promise.resolve(new Map(this.lines));
  }

  saw(name: string, lines: number): void {
    this.lines.set(name, lines);
  }

  forget(names: readonly string[]): Promise<void> {
    for (const name of names) this.lines.delete(name);
    return Promise.resolve();
  }
}

describe('the journal', () => {
  let dir: string;
  let anchor: MemoryAnchor;
  const journals: Journal[] = [];

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'journal-'));
    anchor = new MemoryAnchor();
  });
  afterEach(async () => {
    await Promise.all(journals.splice(0).map((journal) => journal.close()));
    await rm(dir, { recursive: true, force: true });
  });

  const journalOf = (secret = 'one', previous?: string, readAgainMs = 1): Journal => {
    const sealSecret = {
      current: new Secret(secret),
      previous: previous === undefined ? undefined : new Secret(previous),
    };
    const journal = new Journal(
      { auditDir: dir, sealSecret },
      { retentionSeconds: 1000 },
      anchor,
      new RecordSeal({ sealSecret }),
      () => NOW,
      { failed: () => undefined },
      readAgainMs,
    );
    journals.push(journal);
    return journal;
  };

  const filesIn = async (suffix = '.jsonl'): Promise<string[]> =>
    (await readdir(dir)).filter((name) => name.endsWith(suffix)).sort();

  async function written(...numbers: number[]): Promise<string> {
    const before = new Set(await filesIn());
    const journal = journalOf();
    await journal.open();
    await Promise.all(numbers.map((number) => journal.append(event(number))));
    await journal.close();
    const name = (await filesIn()).find((one) => !before.has(one)) ?? '';
    return join(dir, name);
  }

  async function read(secret?: string, previous?: string): Promise<string[]> {
    const { revoked } = await journalOf(secret, previous).state();
    return [...revoked.keys()];
  }

  it('gives back what was appended, in order', async () => {
    await written(1, 2, 3);
    expect(await read()).toEqual(['t1', 't2', 't3']);
  });

  it('is empty in a new folder, and makes the folder', async () => {
    dir = join(dir, 'new');
    await journalOf().open();
    expect(await read()).toEqual([]);
  });

  it('has lines that end with a line feed and with nothing else, whatever a seller wrote', async () => {
    const journal = journalOf();
    await journal.open();
    const token = 'a\u2028b\u2029c\u0085d\re\r\nf';
    await journal.append(event(1, { token }));
    await journal.append(event(2));
    await journal.close();
    expect(await read()).toEqual([token, 't2']);
  });

  it('leaves out a line that was cut off while it was written, and is not confirmed', async () => {
    const path = await written(1, 2);
    await appendFile(path, '1234 {"v":2,"ord');
    expect(await read()).toEqual(['t1', 't2']);
  });

  it('replays by the order of records, whichever file they are in', async () => {
    const [first, second] = [journalOf(), journalOf()];
    await first.open();
    const tick = () => new Promise((resolve) => setTimeout(resolve, 5));
    await first.append(event(1));
    await tick();
    await second.append(event(2));
    await tick();
    await first.append(event(3));
    expect(await read()).toEqual(['t1', 't2', 't3']);
  });

  it.each([
    ['changed', (lines: string[]) => lines.map((line) => line.replace('"t1"', '"t9"'))],
    ['taken out', ([, ...rest]: string[]) => rest],
    ['moved', ([a = '', b = '', ...rest]: string[]) => [b, a, ...rest]],
    ['made up', (lines: string[]) => [...lines, (lines[0] ?? '').replace('"t1"', '"t9"')]],
  ])('notices a line that was %s', async (_what, tamper) => {
    const path = await written(1, 2, 3);
    const lines = (await readFile(path, 'utf8')).trim().split('\n');
    await writeFile(path, `${tamper(lines).join('\n')}\n`);
    await expect(read()).rejects.toThrow(WalletStorageError);
  });

  it('notices lines that were cut off its end, and a file that was taken away', async () => {
    const path = await written(1, 2, 3);
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.split('\n').slice(0, 2).join('\n') + '\n');
    await expect(read()).rejects.toThrow(WalletStorageError);
    await rm(path);
    await expect(read()).rejects.toThrow(WalletStorageError);
    await writeFile(path, text);
    expect(await read()).toHaveLength(3);
  });

  it('waits for a file that a shared folder shows late', async () => {
    const path = await written(1);
    await rename(path, `${path}.late`);
    const reader = journalOf('one', undefined, 1000);
    const reading = reader.state();
    await new Promise((resolve) => setTimeout(resolve, 300));
    await rename(`${path}.late`, path);
    expect([...(await reading).revoked.keys()]).toEqual(['t1']);
  });

  it('does not take a file of another name, or of another secret', async () => {
    const path = await written(1);
    await rename(path, path.replace(/-[0-9a-f]{8}\./, '-00000000.'));
    anchor.lines.clear();
    await expect(read()).rejects.toThrow(WalletStorageError);
    await expect(read('two')).rejects.toThrow(WalletStorageError);
  });

  it('writes nothing more once its file is not where it was', async () => {
    const journal = journalOf();
    await journal.open();
    expect(await journal.isWritable()).toBe(true);
    await journal.append(event(1));
    const [name = ''] = await filesIn();
    await rename(join(dir, name), join(dir, 'moved'));
    expect(await journal.isWritable()).toBe(false);
    await expect(journal.append(event(2))).rejects.toThrow(WalletStorageError);
    await rename(join(dir, 'moved'), join(dir, name));
    expect(await journal.isWritable()).toBe(false);
    await journal.close();
    expect(await read()).toEqual(['t1']);
  });

  it('writes nothing more once a write has failed', async () => {
    const journal = journalOf();
    await journal.open();
    await rm(dir, { recursive: true });
    await expect(journal.append(event(1))).rejects.toThrow(WalletStorageError);
    await journal.open();
    await expect(journal.append(event(2))).rejects.toThrow(WalletStorageError);
  });

  describe('with a checkpoint', () => {
    it('keeps the lines that count, archives finished files, and goes on from there', async () => {
      const done = await written(1, 2);
      const open = journalOf();
      await open.append(event(3));
      expect(await journalOf().compact({ isForced: true })).toBe(true);
      expect(await filesIn('.checkpoint')).toHaveLength(1);
      expect(await readdir(join(dir, 'archive'))).toEqual([done.split('/').at(-1)]);
      expect(await filesIn()).toHaveLength(1);
      await open.append(event(4));
      expect(await read()).toEqual(['t1', 't2', 't3', 't4']);
      await open.close();
      expect(await journalOf().compact({ isForced: true })).toBe(true);
      expect(await filesIn('.checkpoint')).toHaveLength(1);
      expect(await filesIn()).toHaveLength(0);
      expect(await read()).toEqual(['t1', 't2', 't3', 't4']);
    });

    it('drops what cannot count any more', async () => {
      const journal = journalOf();
      await journal.open();
      await journal.append(event(1, { until: NOW - 1 }));
      await journal.append({
        event: 'reserved',
        at: 1,
        wallet: '0x1',
        digest: 'd',
        spending: { id: 'old', deadline: NOW - 40 * 86_400 },
      });
      await journal.append({
        event: 'reserved',
        at: NOW,
        wallet: '0x1',
        digest: 'd',
        spending: { id: 'new', deadline: NOW },
      });
      await journal.close();
      await journalOf().compact({ isForced: true });
      const { revoked, wallets } = await journalOf().state();
      expect(revoked.size).toBe(0);
      const charges = [...(wallets.get('0x1')?.charges.values() ?? [])];
      expect(charges.map(({ id }) => id)).toEqual(['new']);
    });

    it('reads no more than the checkpoint and what came since, however much was written', async () => {
      const journal = journalOf();
      await journal.open();
      const refused = (at: number): JournalEvent => ({
        event: 'refused',
        at,
        what: 'payment_pay',
        rule: 'budget',
      });
      const all = Array.from({ length: 20_000 }, (_, at) => journal.append(refused(at)));
      await Promise.all([...all, journal.append(event(1))]);
      await journal.close();
      await journalOf().compact({ isForced: true });
      const [name = ''] = await filesIn('.checkpoint');
      expect((await readFile(join(dir, name))).length).toBeLessThan(2000);
      const begun = performance.now();
      expect(await read()).toEqual(['t1']);
      expect(performance.now() - begun).toBeLessThan(1000);
    }, 60_000);

    it('notices one that was changed, cut off, or replaced by an older one', async () => {
      await written(1);
      await journalOf().compact({ isForced: true });
      const [first = ''] = await filesIn('.checkpoint');
      const older = await readFile(join(dir, first));
      await written(2);
      await journalOf().compact({ isForced: true });
      const [second = ''] = await filesIn('.checkpoint');
      const text = await readFile(join(dir, second), 'utf8');
      await writeFile(join(dir, second), text.replace('"t2"', '"t3"'));
      await expect(read()).rejects.toThrow(WalletStorageError);
      await writeFile(join(dir, second), text.split('\n').slice(0, -2).join('\n') + '\n');
      await expect(read()).rejects.toThrow(WalletStorageError);
      await rm(join(dir, second));
      await writeFile(join(dir, first), older);
      await expect(read()).rejects.toThrow(WalletStorageError);
      await writeFile(join(dir, second), text);
      expect(await read()).toEqual(['t1', 't2']);
    });

    it('is written by one process at a time, and never of a file that is written to', async () => {
      const open = journalOf();
      await open.open();
      await open.append(event(1));
      const [one, other] = [journalOf(), journalOf()];
      const both = [one, other].map((journal) => journal.compact({ isForced: true }));
      expect((await Promise.all(both)).sort()).toEqual([false, true]);
      expect(await filesIn()).toHaveLength(1);
      await open.append(event(2));
      expect(await read()).toEqual(['t1', 't2']);
    });

    it('needs the previous secret until everything is rewritten', async () => {
      await written(1);
      const rotated = journalOf('two', 'one');
      await rotated.append(event(2));
      expect(await rotated.needsPreviousSecret()).toBe(true);
      expect(await read('two', 'one')).toEqual(['t1', 't2']);
      expect(await rotated.compact()).toBe(true);
      expect(await rotated.needsPreviousSecret()).toBe(false);
      expect(await read('two')).toEqual(['t1', 't2']);
      await expect(read('one')).rejects.toThrow(WalletStorageError);
    });
  });
});
