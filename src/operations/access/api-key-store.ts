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
  /** Present while the changed file cannot be used, so that the previous keys stay in use. */
  readonly code?: 'api_keys_file_unusable';
}

/** How soon a changed file is noticed. */
const LOOK_INTERVAL_MS = 1000;
/** Keys of this service have 48 characters; longer texts are not hashed, to save work. */
const KEY_LENGTH_MAX = 256;

/**
 * The API keys in use. The file is read again each second: Kubernetes changes a mounted secret by swapping symbolic
 * links, which a watch of the file itself does not notice.
 */
export class ApiKeyStore implements PayeeAccess {
  /**
   * Keys are looked up by a hash of these bytes and their hash, so that the time of a look-up reveals nothing about the
   * stored hashes. All such texts have one length, so a plain hash is as good as an HMAC, at a tenth of its cost on
   * Node 24.
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

  /** @throws ApiKeyFileError when the file cannot be used: without it every caller, or none, would be accepted. */
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

  /** Of all keys of an id; a key is replaced by adding a second one with the same id. */
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

/** Payees that the keys of each id may list together. */
function payeesByOwner(keys: readonly ApiKey[]): ReadonlyMap<string, ReadonlySet<Address>> {
  const all = new Map<string, ReadonlySet<Address>>();
  for (const { id, scopes, payees } of keys) {
    if (scopes.has('history')) all.set(id, new Set([...(all.get(id) ?? []), ...payees]));
  }
  return all;
}

/** Ids with a key that lists settlements, none of which lacks the scope `admin`. */
function operatorsOf(keys: readonly ApiKey[]): ReadonlySet<string> {
  const listing = keys.filter(({ scopes }) => scopes.has('history'));
  const operators = new Set(listing.map(({ id }) => id));
  for (const { id, scopes } of listing) if (!scopes.has('admin')) operators.delete(id);
  return operators;
}
