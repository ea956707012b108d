import { createHook } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { privateKeyToAddress } from 'viem/accounts';
import { Secret } from '../../../platform/config/secret.js';
import type { RotatingSecret } from '../../../platform/config/wallet-settings.js';
import { WalletStorageError } from '../../wallet-error.js';
import { Keystore } from './keystore.js';

/** The rules of files are the same at any cost. */
const CHEAP = { N: 1024, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };

const secretsOf = (current: string, previous?: string): RotatingSecret => ({
  current: new Secret(current),
  previous: previous === undefined ? undefined : new Secret(previous),
});

describe('the keystore', () => {
  let dir: string;
  const keystore = (secret = 'correct', previous?: string) =>
    new Keystore(dir, secretsOf(secret, previous), CHEAP);

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'keystore-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const fileOf = async (): Promise<string> => join(dir, (await readdir(dir))[0] ?? '');

  it('gives a subject one key, also after a restart and to several that ask at once', async () => {
    const made = await Promise.all([keystore().create('a'), keystore().create('a')]);
    const later = await keystore().unlock('a');
    expect(new Set([...made, later].map((key) => key?.address)).size).toBe(1);
    expect(await readdir(dir)).toHaveLength(1);
    expect(privateKeyToAddress(made[0].key.reveal()).toLowerCase()).toBe(made[0].address);
  });

  it('knows no key of another subject', async () => {
    await keystore().create('a');
    expect(await keystore().unlock('b')).toBeUndefined();
  });

  it('opens the keys of agents while strangers have as many new ones made as may wait', async () => {
    await keystore().create('funded');
    const store = new Keystore(dir, secretsOf('correct'), CHEAP);
    let made = 0;
    const strangers = Array.from({ length: 400 }, (_, at) =>
      store.create(`stranger-${at}`).then(() => (made += 1)),
    );
    const outcomes = Promise.allSettled(strangers);
    // Some were refused: the line for new keys is full.
    await expect(Promise.all(strangers)).rejects.toThrow('Too many wallets are being opened');
    expect((await store.unlock('funded'))?.address).toMatch(/^0x/);
    expect(made).toBeLessThan(200);
    await outcomes;
    // Two hundred files are written to the disk.
  }, 60_000);

  it('tells an address without deriving a key, and not from the file of another', async () => {
    const { address } = await keystore().create('a');
    // Another secret opens nothing: none was needed.
    expect(await keystore('wrong').addressOf('a')).toBe(address);
    expect(await keystore('wrong').addressOf('b')).toBeUndefined();
    await rename(
      await fileOf(),
      join(dir, `${createHash('sha256').update('b').digest('hex')}.json`),
    );
    await expect(keystore().addressOf('b')).rejects.toThrow(WalletStorageError);
  });

  it('derives by 2^15 rounds and 32 MiB by default', async () => {
    const { address } = await new Keystore(dir, secretsOf('correct')).create('a');
    const { kdf } = JSON.parse(await readFile(await fileOf(), 'utf8')) as { kdf: object };
    expect(kdf).toMatchObject({ name: 'scrypt', n: 2 ** 15, r: 8, p: 1 });
    expect((await new Keystore(dir, secretsOf('correct')).unlock('a'))?.address).toBe(address);
    // What the file says is what was done.
    await expect(keystore().unlock('a')).rejects.toThrow(WalletStorageError);
  }, 60_000);

  it('leaves threads for files while two dozen wallets are made', async () => {
    const store = keystore();
    let [hashes, atOnce, mostAtOnce] = [0, 0, 0];
    const ids = new Set<number>();
    // What Node computes in its threads, from the order to the answer.
    const hook = createHook({
      init: (id, type) => {
        if (type !== 'SCRYPTREQUEST') return;
        ids.add(id);
        hashes += 1;
        atOnce += 1;
        mostAtOnce = Math.max(mostAtOnce, atOnce);
      },
      before: (id) => {
        if (ids.delete(id)) atOnce -= 1;
      },
    }).enable();
    const made = await Promise.all(
      Array.from({ length: 24 }, (_, at) => store.create(`owner-${at}`)),
    );
    hook.disable();
    expect(new Set(made.map(({ address }) => address)).size).toBe(24);
    expect([hashes, atOnce, mostAtOnce]).toEqual([24, 0, 2]);
  });

  it('keeps the key out of the file and of what is printed, and the file to its owner', async () => {
    const key = await keystore().create('a');
    const text = await readFile(await fileOf(), 'utf8');
    expect(text + inspect(key)).not.toContain(key.key.reveal().slice(2));
    expect((await stat(await fileOf())).mode & 0o077).toBe(0);
  });

  it('does not open the key file of another owner, put in the place of one’s own', async () => {
    await keystore().create('owner:a');
    const own = await fileOf();
    const text = await readFile(own, 'utf8');
    await rm(own);
    await keystore().create('owner:b');
    const theirs = await fileOf();
    await writeFile(theirs, text);
    await expect(keystore().unlock('owner:b')).rejects.toThrow(WalletStorageError);
    // Nor when the file says that it is.
    await writeFile(theirs, text.replace('owner:a', 'owner:b'));
    await expect(keystore().unlock('owner:b')).rejects.toThrow(WalletStorageError);
  });

  it('rewrites its keys when the secret is replaced, and then does not need the previous one', async () => {
    const made = [await keystore('one').create('a'), await keystore('one').create('b')];
    await expect(keystore('two').unlock('a')).rejects.toThrow(WalletStorageError);
    expect(await keystore('two', 'one').renewAll()).toBe(2);
    const kept = [await keystore('two').unlock('a'), await keystore('two').unlock('b')];
    expect(kept.map((key) => key?.address)).toEqual(made.map(({ address }) => address));
    await expect(keystore('one').unlock('a')).rejects.toThrow(WalletStorageError);
    expect(await readdir(dir)).toHaveLength(2);
  });

  it('does not open with another secret', async () => {
    await keystore().create('a');
    await expect(keystore('wrong').unlock('a')).rejects.toThrow(WalletStorageError);
  });

  it.each([
    ['address', (text: string) => text.replace(/0x[0-9a-f]{4}/, '0x0000')],
    ['ciphertext', (text: string) => text.replace(/"text":"..../, '"text":"AAAA')],
    ['end', (text: string) => text.slice(0, 50)],
  ])('does not open a file whose %s was changed', async (_what, change) => {
    await keystore().create('a');
    const path = await fileOf();
    await writeFile(path, change(await readFile(path, 'utf8')));
    await expect(keystore().unlock('a')).rejects.toThrow(WalletStorageError);
  });
});
