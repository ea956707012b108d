import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { privateKeyToAddress } from 'viem/accounts';
import { Secret } from '../../../config/secret.js';
import { WalletStorageError } from '../../wallet-error.js';
import { Keystore } from './keystore.js';

describe('the keystore', () => {
  let dir: string;
  const keystore = (secret = 'correct') => new Keystore(dir, new Secret(secret));

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

  it('keeps the key out of the file and of what is printed, and the file to its owner', async () => {
    const key = await keystore().create('a');
    const text = await readFile(await fileOf(), 'utf8');
    expect(text + inspect(key)).not.toContain(key.key.reveal().slice(2));
    expect((await stat(await fileOf())).mode & 0o077).toBe(0);
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
