import type { PinoLogger } from 'nestjs-pino';
import { delay, withTimeout } from '../../platform/concurrency/timing.js';
import { StorageUnavailableError } from '../errors.js';
import type { StorageObserver, StorageProvider } from './storage-provider.js';

/** How long a start of the process waits for the first try. */
const FIRST_TRY_TIMEOUT_MS = 5000;
const RETRY_MS = 1000;

/** The result of a try. */
type Outcome = { readonly isOpen: true } | { readonly isOpen: false; readonly error: unknown };

/**
 * Opens a storage, again and again while it is away: what the process does besides does not wait for it,
 * and does not end with it. Only settings that can never work keep the process from starting.
 */
export class StorageOpening {
  #isOpen = false;
  #isStopped = false;
  /** Cause of the last logged failure: an outage is one line in the log, not one for each try. */
  #logged: string | undefined;

  constructor(
    readonly storage: StorageProvider,
    private readonly logger: Pick<PinoLogger, 'info' | 'error'>,
  ) {}

  /** Whether the storage's identity is known and it may be read and written. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Resolves when the storage is open, or is not there now: then it goes on trying.
   *
   * @throws what the storage throws when it can be asked and still cannot be opened.
   */
  async begin(observer: StorageObserver): Promise<void> {
    const first = this.#attempt(observer);
    const tried = await withTimeout(FIRST_TRY_TIMEOUT_MS, first);
    if (!tried.inTime) {
      this.#logOnce(undefined);
    } else {
      if (tried.value.isOpen) return;
      const { error } = tried.value;
      if (!(error instanceof StorageUnavailableError)) throw error;
    }
    void this.#goOn(observer, first);
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #goOn(observer: StorageObserver, first: Promise<Outcome>): Promise<void> {
    let outcome = await first;
    while (!outcome.isOpen && !this.#isStopped) {
      this.#logOnce(outcome.error);
      await delay(RETRY_MS);
      outcome = await this.#attempt(observer);
    }
    if (outcome.isOpen) this.logger.info('the hub storage is open');
  }

  async #attempt(observer: StorageObserver): Promise<Outcome> {
    try {
      await this.storage.start(observer);
      this.#isOpen = true;
      return { isOpen: true };
    } catch (error) {
      return { isOpen: false, error };
    }
  }

  /** @param error - what was in the way; `undefined` when there was no answer yet. */
  #logOnce(error: unknown): void {
    const text = error instanceof Error ? error.message : '';
    if (this.#logged === text) return;
    this.#logged = text;
    this.logger.error(
      { err: error },
      'the hub storage is not open yet; the hub answers 503 until it is',
    );
  }
}
