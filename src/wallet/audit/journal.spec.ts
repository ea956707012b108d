import { appendFile, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { WalletStorageError } from '../wallet-error.js';
import { Journal } from './journal.js';
import type { JournalEvent } from './journal-record.js';

const event = (at: number): JournalEvent => ({ event: 'signed', at, spending: `s${at}` });

describe('the journal', () => {
  let dir: string;

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'journal-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  async function written(...times: number[]): Promise<string> {
    const journal = new Journal(dir);
    await journal.open();
    await Promise.all(times.map((at) => journal.append(event(at))));
    await journal.close();
    const [name = ''] = await readdir(dir);
    return join(dir, name);
  }

  async function read(): Promise<number[]> {
    const times: number[] = [];
    for await (const { at } of new Journal(dir).events()) times.push(at);
    return times;
  }

  it('gives back what was appended, in order', async () => {
    await written(1, 2, 3);
    expect(await read()).toEqual([1, 2, 3]);
  });

  it('is empty in a new folder, and makes the folder', async () => {
    dir = join(dir, 'new');
    await new Journal(dir).open();
    expect(await read()).toEqual([]);
  });

  it('leaves out a line that was cut off at the end', async () => {
    const path = await written(1, 2, 3);
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.slice(0, -10));
    expect(await read()).toEqual([1, 2]);
  });

  it('refuses a cut-off line with others after it', async () => {
    const path = await written(1);
    await appendFile(path, '{"v":1,"prev"\n{"v":1}\n');
    await expect(read()).rejects.toThrow(WalletStorageError);
  });

  it.each([
    ['changed', (lines: string[]) => lines.map((line) => line.replace('"at":1', '"at":9'))],
    ['taken out', ([, ...rest]: string[]) => rest],
    ['moved', ([a = '', b = '', ...rest]: string[]) => [b, a, ...rest]],
  ])('notices a line that was %s', async (_what, tamper) => {
    const path = await written(1, 2, 3);
    const lines = (await readFile(path, 'utf8')).trim().split('\n');
    await writeFile(path, `${tamper(lines).join('\n')}\n`);
    await expect(read()).rejects.toThrow(WalletStorageError);
  });

  it('writes nothing more once its file is not where it was', async () => {
    const journal = new Journal(dir);
    await journal.open();
    expect(await journal.isWritable()).toBe(true);
    await journal.append(event(1));
    const [name = ''] = await readdir(dir);
    await rename(join(dir, name), join(dir, 'moved'));
    expect(await journal.isWritable()).toBe(false);
    await expect(journal.append(event(2))).rejects.toThrow(WalletStorageError);
    await rename(join(dir, 'moved'), join(dir, name));
    expect(await journal.isWritable()).toBe(false);
    await journal.close();
    expect(await read()).toEqual([1]);
  });

  it('writes nothing more once a write has failed', async () => {
    const journal = new Journal(join(dir, 'not-there'));
    await expect(journal.append(event(1))).rejects.toThrow(WalletStorageError);
    await new Journal(join(dir, 'not-there')).open();
    await expect(journal.append(event(2))).rejects.toThrow(WalletStorageError);
  });
});
