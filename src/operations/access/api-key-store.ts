import { hash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { PinoLogger } from 'nestjs-pino';
import type { Address } from 'viem';
import type { PayeeAccess } from '../../platform/http/payee-access.js';
import { type ApiKey, ApiKeyFileError, hashApiKey, parseApiKeys } from './api-key.js';

/** The state of the API keys, for operators. */
export interface ApiKeyStatus {
  readonly keys: number;
  /** Milliseconds since the epoch at which these keys were read. */
  readonly loadedAt: number;
  /** Present while the file differs from the keys in use because it cannot be used. */
  readonly code?: 'api_keys_file_unusable';
}

/** How soon a changed file is seen. */
const LOOK_INTERVAL_MS = 1000;
/** Keys of this service have 48 characters; longer ones are not hashed, to save work. */
const KEY_LENGTH_MAX = 256;

/**
 * The API keys in use. The file is read again each second: a secret mounted by Kubernetes changes by a
 * swap of symbolic links, which watching the file itself does not see.
 */
export class ApiKeyStore implements PayeeAccess {
  /**
   * Keys are looked up by a hash of these bytes and their hash. What the look-up takes then tells nothing about
   * the hashes on file, however often it is measured. All such texts have one length, so that a plain hash does what an
   * HMAC would, at a tenth of its price on Node 24.
   */
  readonly #blinding = randomBytes(32);
  #keys: ReadonlyMap<string, ApiKey> = new Map();
  #payees: ReadonlyMap<string, ReadonlySet<Address>> = new Map();
  #operators: ReadonlySet<string> = new Set();
  #text: string | undefined;
  #problem: string | undefined;
  #loadedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly file: string,
    private readonly logger: Pick<PinoLogger, 'info' | 'error'>,
  ) {}

  /**
   * @throws ApiKeyFileError when the file cannot be used: without it no caller would be let in, or
   *   every caller.
   */
  async start(): Promise<void> {
    await this.#load();
    this.#timer = setInterval(() => void this.reload(), LOOK_INTERVAL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  find(presented: string): ApiKey | undefined {
    if (presented.length > KEY_LENGTH_MAX) return undefined;
    return this.#keys.get(this.#blind(hashApiKey(presented)));
  }

  /** Of all keys of an id: several are how one is changed. */
  payeesOfOwner(owner: string): ReadonlySet<Address> {
    return this.#payees.get(owner) ?? new Set();
  }

  isOperator(owner: string): boolean {
    return this.#operators.has(owner);
  }

  get status(): ApiKeyStatus {
    return {
      keys: this.#keys.size,
      loadedAt: this.#loadedAt,
      ...(this.#problem !== undefined && { code: 'api_keys_file_unusable' }),
    };
  }

  /** Reads the file if it has changed. A file with errors changes nothing and is logged once. */
  async reload(): Promise<void> {
    try {
      await this.#load();
      this.#problem = undefined;
    } catch (error) {
      if (!(error instanceof ApiKeyFileError)) throw error;
      if (error.message === this.#problem) return;
      this.#problem = error.message;
      this.logger.error(
        { reason: error.message },
        'API_KEYS_FILE could not be read; the keys read before stay valid',
      );
    }
  }

  async #load(): Promise<void> {
    const text = await this.#read();
    if (text === this.#text) return;
    const records = parseApiKeys(text);
    this.#keys = new Map(
      records.map(({ sha256, ...key }): [string, ApiKey] => [
        this.#blind(Buffer.from(sha256, 'hex')),
        key,
      ]),
    );
    this.#payees = payeesByOwner(records);
    this.#operators = operatorsOf(records);
    this.#text = text;
    this.#loadedAt = Date.now();
    this.logger.info({ keys: this.#keys.size }, 'API keys loaded');
  }

  async #read(): Promise<string> {
    try {
      return await readFile(this.file, 'utf8');
    } catch (error) {
      const { code = 'no reason given' } = error as NodeJS.ErrnoException;
      throw new ApiKeyFileError(`${this.file} cannot be read (${code})`);
    }
  }

  /** @param digest - 32 bytes. */
  #blind(digest: Buffer): string {
    return hash('sha256', Buffer.concat([this.#blinding, digest]), 'base64');
  }
}

/** What the keys of each id may list together. */
function payeesByOwner(keys: readonly ApiKey[]): ReadonlyMap<string, ReadonlySet<Address>> {
  const all = new Map<string, ReadonlySet<Address>>();
  for (const { id, scopes, payees } of keys) {
    if (scopes.has('history')) all.set(id, new Set([...(all.get(id) ?? []), ...payees]));
  }
  return all;
}

/** Ids of which a key lists settlements, and no such key is without the scope `admin`. */
function operatorsOf(keys: readonly ApiKey[]): ReadonlySet<string> {
  const listing = keys.filter(({ scopes }) => scopes.has('history'));
  const operators = new Set(listing.map(({ id }) => id));
  for (const { id, scopes } of listing) if (!scopes.has('admin')) operators.delete(id);
  return operators;
}
