import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from 'node:crypto';
import { constants } from 'node:fs';
import { access, link, mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Address, Hex } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { z } from 'zod';
import { type Queue, Semaphore, TooBusyError } from '../../../platform/concurrency/semaphore.js';
import { Secret } from '../../../platform/config/secret.js';
import type { RotatingSecret } from '../../../platform/config/wallet-settings.js';
import { WalletError, WalletStorageError } from '../../wallet-error.js';

/**
 * 2^15 rounds and 32 MiB: about 0.1 s, once per wallet and process (RFC 7914; OWASP's minimum is 2^17 for passwords,
 * but the secret has 128 bits or more).
 */
const SCRYPT: ScryptCost = { N: 32_768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };
const UNLOCKED_MAX = 1000;
/** Half of Node's four threads for files, names and hashes, so that the others stay free. */
const DERIVATIONS_AT_ONCE = 2;
/** Some ten seconds of work, separately for existing and for new keys. */
const DERIVATIONS_WAITING_MAX = 200;
const BUSY_SECONDS = 10;

const KeyFile = z.object({
  format: z.literal(2),
  subject: z.string(),
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

interface UnlockedKey {
  readonly address: Address;
  readonly key: Secret<Hex>;
}

interface ScryptCost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
  /** Bytes. */
  readonly maxmem: number;
}

const derive = promisify<string, Buffer, number, ScryptCost, Buffer>(scrypt);

/**
 * Private keys in files, one per subject, encrypted with AES-256-GCM under a key that scrypt derives
 * from the keystore's secret. Subject and address are bound to the ciphertext as associated data: the
 * file of one subject does not open as that of another.
 */
export class Keystore {
  readonly #unlocked = new Map<string, Promise<UnlockedKey | undefined>>();
  readonly #derivations = new Semaphore(DERIVATIONS_AT_ONCE, DERIVATIONS_WAITING_MAX);

  constructor(
    private readonly dir: string,
    private readonly secret: RotatingSecret,
    private readonly cost: ScryptCost = SCRYPT,
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

  /**
   * The address in its file, without decrypting the key. Decryption verifies the address.
   * `undefined` when the subject has no key.
   *
   * @throws WalletStorageError for another subject's file and for any other file.
   */
  async addressOf(subject: string): Promise<Address | undefined> {
    return (await this.#read(subject))?.address as Address | undefined;
  }

  /** `undefined` when the subject has no key. */
  unlock(subject: string): Promise<UnlockedKey | undefined> {
    const known = this.#unlocked.get(subject);
    if (known !== undefined) {
      // Keys in use stay; the key that was unused for longest is removed.
      this.#unlocked.delete(subject);
      this.#unlocked.set(subject, known);
      return known;
    }
    const unlocking = this.#unlock(subject);
    this.#unlocked.set(subject, unlocking);
    // Neither an error nor a missing key is cached.
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

  /** The subject's key, made if it does not exist. The first of several concurrent calls wins. */
  async create(subject: string): Promise<UnlockedKey> {
    if ((await this.addressOf(subject)) === undefined) {
      const key = generatePrivateKey();
      const file = await this.#encrypt(subject, key, 'later');
      // It is not cached: unused keys must not push used ones out of the cache.
      if (await this.#placeOnce(this.#pathOf(subject), JSON.stringify(file))) {
        return { address: file.address as Address, key: new Secret(key) };
      }
    }
    const made = await this.unlock(subject);
    if (made === undefined) throw new WalletStorageError('WALLET_KEYSTORE_DIR', 'it vanished');
    return made;
  }

  /** While a previous secret is set. */
  async renewIfRotated(): Promise<void> {
    if (this.secret.previous !== undefined) await this.renewAll();
  }

  /**
   * Encrypts every key under the previous secret again, one after another.
   *
   * @returns the number of keys. From then on the previous secret is not needed.
   * @throws WalletStorageError when neither secret opens a key.
   */
  async renewAll(): Promise<number> {
    const names = (await readdir(this.dir)).filter((name) => name.endsWith('.json'));
    for (const name of names) {
      const { subject } = await readKeyFile(join(this.dir, name));
      await this.unlock(subject);
    }
    return names.length;
  }

  async #unlock(subject: string): Promise<UnlockedKey | undefined> {
    const file = await this.#read(subject);
    if (file === undefined) return undefined;
    try {
      return await this.#decrypt(subject, file);
    } catch (error) {
      if (error instanceof WalletError) throw error;
      throw unreadable(error);
    }
  }

  async #read(subject: string): Promise<KeyFile | undefined> {
    let text: string;
    try {
      text = await readFile(this.#pathOf(subject), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new WalletStorageError('WALLET_KEYSTORE_DIR', error);
    }
    try {
      const file = KeyFile.parse(JSON.parse(text));
      if (file.subject === subject) return file;
    } catch (error) {
      throw unreadable(error);
    }
    throw unreadable(new Error('the key file belongs to another subject'));
  }

  async #encrypt(subject: string, privateKey: Hex, line: Queue): Promise<KeyFile> {
    const address = privateKeyToAddress(privateKey).toLowerCase();
    const [salt, iv] = [randomBytes(32), randomBytes(12)];
    const key = await this.#keyOf(this.secret.current, salt, line);
    const cipher = createCipheriv('aes-256-gcm', key, iv);
    cipher.setAAD(boundTo(subject, address));
    const text = Buffer.concat([cipher.update(privateKey.slice(2), 'hex'), cipher.final()]);
    const base64 = (bytes: Buffer): string => bytes.toString('base64');
    return {
      format: 2,
      subject,
      address,
      kdf: { name: 'scrypt', n: this.cost.N, r: this.cost.r, p: this.cost.p, salt: base64(salt) },
      cipher: {
        name: 'aes-256-gcm',
        iv: base64(iv),
        tag: base64(cipher.getAuthTag()),
        text: base64(text),
      },
    };
  }

  /** A key under the previous secret is encrypted again under the present one. */
  async #decrypt(subject: string, file: KeyFile): Promise<UnlockedKey> {
    const { current, previous } = this.secret;
    try {
      return await this.#decryptWith(current, subject, file);
    } catch (error) {
      if (previous === undefined || error instanceof WalletError) throw error;
      const unlocked = await this.#decryptWith(previous, subject, file);
      const text = JSON.stringify(await this.#encrypt(subject, unlocked.key.reveal(), 'first'));
      await this.#replace(this.#pathOf(subject), text);
      return unlocked;
    }
  }

  /** @throws Error for another secret, another subject and a changed file. */
  async #decryptWith(
    secret: Secret<string>,
    subject: string,
    { address, kdf, cipher }: KeyFile,
  ): Promise<UnlockedKey> {
    const bytes = (text: string): Buffer => Buffer.from(text, 'base64');
    const key = await this.#keyOf(secret, bytes(kdf.salt), 'first');
    const options = { authTagLength: 16 };
    const decipher = createDecipheriv('aes-256-gcm', key, bytes(cipher.iv), options);
    decipher.setAAD(boundTo(subject, address));
    decipher.setAuthTag(bytes(cipher.tag));
    const text = Buffer.concat([decipher.update(bytes(cipher.text)), decipher.final()]);
    return { address: address as Address, key: new Secret<Hex>(`0x${text.toString('hex')}`) };
  }

  /**
   * @param line - existing keys come first, so that strangers who make new keys delay no agent.
   * @throws WalletError `unavailable` when too many keys are being derived.
   */
  async #keyOf(secret: Secret<string>, salt: Buffer, line: Queue): Promise<Buffer> {
    const work = () => derive(secret.reveal(), salt, 32, this.cost);
    try {
      return await this.#derivations.run(work, line);
    } catch (error) {
      if (!(error instanceof TooBusyError)) throw error;
      throw new WalletError('unavailable', 'Too many wallets are being opened. Try again.', {
        retryAfterSeconds: BUSY_SECONDS,
      });
    }
  }

  /** Writes a complete file or none, and never overwrites one. @returns whether it was written. */
  async #placeOnce(path: string, text: string): Promise<boolean> {
    let isFirst = true;
    await this.#place(path, text, async (draft) => {
      await link(draft, path).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        isFirst = false;
      });
      await unlink(draft);
    });
    return isFirst;
  }

  /** Replaces a file by another complete one. */
  #replace(path: string, text: string): Promise<void> {
    return this.#place(path, text, (draft) => rename(draft, path));
  }

  async #place(path: string, text: string, move: (draft: string) => Promise<void>): Promise<void> {
    const draft = `${path}.${randomBytes(6).toString('hex')}.draft`;
    try {
      const file = await open(draft, 'wx', 0o600);
      await file.writeFile(text);
      await file.sync();
      await file.close();
      await move(draft);
      const folder = await open(this.dir, 'r');
      await folder.sync();
      await folder.close();
    } catch (error) {
      throw new WalletStorageError('WALLET_KEYSTORE_DIR', error);
    }
  }

  /** A file name is the hash of its subject, so the subject never reaches the file system. */
  #pathOf(subject: string): string {
    return join(this.dir, `${createHash('sha256').update(subject).digest('hex')}.json`);
  }
}

/** @throws WalletStorageError */
async function readKeyFile(path: string): Promise<KeyFile> {
  try {
    return KeyFile.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    throw new WalletStorageError('WALLET_KEYSTORE_DIR', error);
  }
}

function unreadable(error: unknown): WalletStorageError {
  return new WalletStorageError('WALLET_KEYSTORE_SECRET or a file in WALLET_KEYSTORE_DIR', error);
}

function boundTo(subject: string, address: string): Buffer {
  return Buffer.from(JSON.stringify(['x402 wallet key', 2, subject, address]));
}
