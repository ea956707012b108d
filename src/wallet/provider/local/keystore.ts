import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from 'node:crypto';
import { constants } from 'node:fs';
import { access, link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Address, Hex } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { z } from 'zod';
import { Secret } from '../../../config/secret.js';
import { WalletStorageError } from '../../wallet-error.js';

/** 2^15 rounds and 32 MiB: about 0.1 s, once per wallet and process (RFC 7914; OWASP's least is 2^17 for passwords, here the secret has 128 bits or more). */
const SCRYPT = { N: 32_768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 } as const;
const UNLOCKED_MAX = 1000;

const KeyFile = z.object({
  format: z.literal(1),
  address: z.string().regex(/^0x[0-9a-f]{40}$/),
  kdf: z.object({
    name: z.literal('scrypt'),
    n: z.int(),
    r: z.int(),
    p: z.int(),
    salt: z.string(),
  }),
  cipher: z.object({
    name: z.literal('aes-256-gcm'),
    iv: z.string(),
    tag: z.string(),
    text: z.string(),
  }),
});
type KeyFile = z.infer<typeof KeyFile>;

export interface UnlockedKey {
  readonly address: Address;
  readonly key: Secret<Hex>;
}

const derive = promisify<string, Buffer, number, typeof SCRYPT, Buffer>(scrypt);

/**
 * Private keys in files, one per subject, encrypted with AES-256-GCM under a key that scrypt derives
 * from the keystore's secret. The address is bound to the ciphertext as associated data.
 */
export class Keystore {
  readonly #unlocked = new Map<string, Promise<UnlockedKey | undefined>>();

  constructor(
    private readonly dir: string,
    private readonly secret: Secret<string>,
  ) {}

  /** @throws WalletStorageError when the folder cannot be used. */
  async open(): Promise<void> {
    try {
      await mkdir(this.dir, { recursive: true, mode: 0o700 });
      await access(this.dir, constants.R_OK | constants.W_OK);
    } catch (error) {
      throw new WalletStorageError('WALLET_KEYSTORE_DIR', error);
    }
  }

  /** `undefined` when the subject has no key. */
  unlock(subject: string): Promise<UnlockedKey | undefined> {
    const known = this.#unlocked.get(subject);
    if (known !== undefined) return known;
    const unlocking = this.#unlock(subject);
    this.#unlocked.set(subject, unlocking);
    // Neither a failure nor an absence is kept.
    unlocking.then(
      (key) => {
        if (key === undefined) this.#unlocked.delete(subject);
      },
      () => this.#unlocked.delete(subject),
    );
    const [oldest] = this.#unlocked.keys();
    if (this.#unlocked.size > UNLOCKED_MAX && oldest !== undefined) this.#unlocked.delete(oldest);
    return unlocking;
  }

  /** The subject's key, made if there is none. Of several that make one at once the first wins. */
  async create(subject: string): Promise<UnlockedKey> {
    const existing = await this.unlock(subject);
    if (existing !== undefined) return existing;
    const text = JSON.stringify(await this.#encrypt(generatePrivateKey()));
    await this.#placeOnce(this.#pathOf(subject), text);
    const made = await this.unlock(subject);
    if (made === undefined) throw new WalletStorageError('WALLET_KEYSTORE_DIR', 'it vanished');
    return made;
  }

  async #unlock(subject: string): Promise<UnlockedKey | undefined> {
    let text: string;
    try {
      text = await readFile(this.#pathOf(subject), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new WalletStorageError('WALLET_KEYSTORE_DIR', error);
    }
    try {
      return await this.#decrypt(KeyFile.parse(JSON.parse(text)));
    } catch (error) {
      throw new WalletStorageError(
        'WALLET_KEYSTORE_SECRET or a file in WALLET_KEYSTORE_DIR',
        error,
      );
    }
  }

  async #encrypt(privateKey: Hex): Promise<KeyFile> {
    const address = privateKeyToAddress(privateKey).toLowerCase();
    const [salt, iv] = [randomBytes(32), randomBytes(12)];
    const cipher = createCipheriv('aes-256-gcm', await this.#keyOf(salt), iv);
    cipher.setAAD(Buffer.from(address));
    const text = Buffer.concat([cipher.update(privateKey.slice(2), 'hex'), cipher.final()]);
    const base64 = (bytes: Buffer): string => bytes.toString('base64');
    return {
      format: 1,
      address,
      kdf: { name: 'scrypt', n: SCRYPT.N, r: SCRYPT.r, p: SCRYPT.p, salt: base64(salt) },
      cipher: {
        name: 'aes-256-gcm',
        iv: base64(iv),
        tag: base64(cipher.getAuthTag()),
        text: base64(text),
      },
    };
  }

  async #decrypt({ address, kdf, cipher }: KeyFile): Promise<UnlockedKey> {
    const bytes = (text: string): Buffer => Buffer.from(text, 'base64');
    const decipher = createDecipheriv(
      'aes-256-gcm',
      await this.#keyOf(bytes(kdf.salt)),
      bytes(cipher.iv),
      { authTagLength: 16 },
    );
    decipher.setAAD(Buffer.from(address));
    decipher.setAuthTag(bytes(cipher.tag));
    const text = Buffer.concat([decipher.update(bytes(cipher.text)), decipher.final()]);
    return { address: address as Address, key: new Secret<Hex>(`0x${text.toString('hex')}`) };
  }

  #keyOf(salt: Buffer): Promise<Buffer> {
    return derive(this.secret.reveal(), salt, 32, SCRYPT);
  }

  /** Writes a file whole or not at all, and never over another. */
  async #placeOnce(path: string, text: string): Promise<void> {
    const draft = `${path}.${randomBytes(6).toString('hex')}.draft`;
    try {
      const file = await open(draft, 'wx', 0o600);
      await file.writeFile(text);
      await file.sync();
      await file.close();
      await link(draft, path).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      });
      await unlink(draft);
      const folder = await open(this.dir, 'r');
      await folder.sync();
      await folder.close();
    } catch (error) {
      throw new WalletStorageError('WALLET_KEYSTORE_DIR', error);
    }
  }

  /** Subjects name files only by their hash: nothing of them reaches the file system. */
  #pathOf(subject: string): string {
    return join(this.dir, `${createHash('sha256').update(subject).digest('hex')}.json`);
  }
}
