import type { Address } from 'viem';
import { StartError } from '../../protocol/errors.js';
import { keccak256Bytes } from '../../protocol/evm/keccak.js';
import type { Clock } from '../concurrency/clock.js';
import type { RecoverableSignature } from '../crypto/sign-transaction.js';
import type { DigestSigner } from './digest-signer.js';
import { addressOfSpki, recoverableSignature } from './ecdsa-der.js';
import { type KeyService, KeyServiceError, type SignFailure } from './key-service.js';

/** Events of a key service; for logs and metrics. */
export interface SigningObserver {
  /** @param ms - duration with all tries. */
  signed(ms: number): void;
  /** @param code - the error code of the service. */
  failed(failure: SignFailure, code: string): void;
}

interface KeyServiceSignerOptions {
  readonly service: KeyService;
  /** The expected address of the key. Lower case. */
  readonly address: Address;
  /** The key, as named in the settings. */
  readonly name: string;
  /** Milliseconds for a signature, with all tries. */
  readonly timeoutMs: number;
  readonly observer: SigningObserver;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
}

const TRIES_MOST = 3;
/** The longest pause before the second try; it doubles for each later one. */
const PAUSE_MS = 100;
/** Pauses between checks of a key that failed. */
const PROBE_PAUSE_MS = { first: 500, most: 10_000 };
/** Time limit at the start, which includes the loading of the SDK. */
const START_MS = 5000;
/** The digest for the check of a key. It is not the digest of a transaction. */
const PROBE_DIGEST = keccak256Bytes(Buffer.from('Does this key sign for its x402 lane?'));

/**
 * A signer with a key in a key service. The signer of every signature is recovered and compared with the address
 * before it is used, so the answer of the service need not be trusted. A key that failed is not used again before a
 * check shows that it signs. A late answer is dropped: a retry gets another signature, and only stored transactions
 * are sent.
 */
export class KeyServiceSigner implements DigestSigner {
  /** Whether its public key was checked against the address. */
  #isChecked = false;
  /** The address of the public key that was read last. */
  #found: Address | undefined;
  #isAvailable = false;
  #probe: Promise<void> | undefined;
  #probesFrom = 0;
  #probePauseMs = PROBE_PAUSE_MS.first;

  constructor(private readonly options: KeyServiceSignerOptions) {}

  get address(): Address {
    return this.options.address;
  }

  /** Reading this property starts another check when it is due. */
  get isAvailable(): boolean {
    const { clock } = this.options;
    if (!this.#isAvailable && this.#probe === undefined && clock.steady() >= this.#probesFrom) {
      this.#probe = this.#see().finally(() => {
        this.#probe = undefined;
      });
    }
    return this.#isAvailable;
  }

  async start(): Promise<void> {
    const { clock, address, name } = this.options;
    const probe = this.#see().finally(() => {
      this.#probe = undefined;
    });
    this.#probe = probe;
    await Promise.race([probe, clock.sleep(START_MS)]);
    if (this.#found === undefined || this.#found === address) return;
    throw new StartError(`SIGNER_KEYS: ${name} is the key of ${this.#found}, not of ${address}.`);
  }

  async sign(digest: Uint8Array): Promise<RecoverableSignature | undefined> {
    const { clock, observer } = this.options;
    if (!this.isAvailable) return undefined;
    const since = clock.steady();
    const signature = await this.#signOrFail(digest);
    if (signature !== undefined) observer.signed(clock.steady() - since);
    return signature;
  }

  async #signOrFail(digest: Uint8Array): Promise<RecoverableSignature | undefined> {
    try {
      return await this.#signWithTries(digest);
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  /** Checks the key, and that it signs. */
  async #see(): Promise<void> {
    const { service, address, clock } = this.options;
    try {
      if (!this.#isChecked) {
        const spki = await this.#inTime(START_MS, (signal) => service.publicKey(signal));
        this.#found = addressOfSpki(spki);
        if (this.#found === undefined) throw new KeyServiceError('wrong_key', 'not_secp256k1');
        if (this.#found !== address) throw new KeyServiceError('wrong_key', 'another_address');
        this.#isChecked = true;
      }
      await this.#signWithTries(PROBE_DIGEST);
      this.#isAvailable = true;
      this.#probePauseMs = PROBE_PAUSE_MS.first;
    } catch (error) {
      this.#fail(error);
      this.#probesFrom = clock.steady() + this.#probePauseMs;
      this.#probePauseMs = Math.min(2 * this.#probePauseMs, PROBE_PAUSE_MS.most);
    }
  }

  #fail(error: unknown): void {
    this.#isAvailable = false;
    const isKnown = error instanceof KeyServiceError;
    // A bug in this service disables only this key too.
    if (isKnown) this.options.observer.failed(error.failure, error.code);
    else this.options.observer.failed('unavailable', 'unexpected');
  }

  /** @throws KeyServiceError */
  async #signWithTries(digest: Uint8Array): Promise<RecoverableSignature> {
    const { clock, timeoutMs, random } = this.options;
    const deadline = clock.steady() + timeoutMs;
    for (let tries = 1; ; tries += 1) {
      try {
        // Half of the remaining time, so that a hanging request leaves time for another.
        const most = Math.min(deadline - clock.steady(), timeoutMs / 2);
        return await this.#signOnce(digest, most);
      } catch (error) {
        const pauseMs = random() * PAUSE_MS * 2 ** (tries - 1);
        const isWorthIt = error instanceof KeyServiceError && WORTH_ANOTHER.has(error.failure);
        const hasTime = clock.steady() + pauseMs < deadline;
        if (!isWorthIt || tries === TRIES_MOST || !hasTime) throw error;
        await clock.sleep(pauseMs);
      }
    }
  }

  async #signOnce(digest: Uint8Array, limitMs: number): Promise<RecoverableSignature> {
    const { service, address } = this.options;
    const der = await this.#inTime(limitMs, (signal) => service.sign(digest, signal));
    const signature = recoverableSignature(der, digest, address);
    if (signature === undefined) throw new KeyServiceError('bad_answer', 'not_its_signature');
    return signature;
  }

  /** @throws KeyServiceError without an answer in time; a later answer is dropped. */
  async #inTime<T>(limitMs: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController();
    const answer = ask(abort.signal);
    const late = this.options.clock.sleep(limitMs).then((): never => {
      throw new KeyServiceError('unavailable', 'no_answer_in_time');
    });
    late.catch(() => undefined);
    try {
      return await Promise.race([answer, late]);
    } finally {
      answer.catch(() => undefined);
      abort.abort();
    }
  }
}

/** Failures that a retry can fix. A refusal or a wrong key stays. */
const WORTH_ANOTHER: ReadonlySet<SignFailure> = new Set(['throttled', 'unavailable', 'bad_answer']);
