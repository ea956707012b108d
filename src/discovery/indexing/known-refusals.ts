import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { CachedPromise } from '../../platform/concurrency/cached-promise.js';
import { Clock } from '../../platform/concurrency/clock.js';
import type { EntryName } from '../owned/statement.js';
import { entryIdNamed, hostOf } from '../postgres/entry-rows.js';
import { type ListingRefusals, PostgresRefusals } from '../postgres/postgres-refusals.js';

/** Milliseconds after which the state is read again. */
const FRESH_MS = 10_000;
/** A state older than this, which could not be read again, counts as unknown. */
const KNOWN_MS = 60_000;

/**
 * Entries that no payment lists, some seconds old. Requests never wait for the read: it runs in the background, once
 * for all of them, and only while there are requests.
 */
@Injectable()
export class KnownRefusals {
  readonly #reading: CachedPromise<void>;
  #known: { readonly refusals: ListingRefusals; readonly at: number } | undefined;

  constructor(
    @Inject(PostgresRefusals) reader: Pick<PostgresRefusals, 'standing'>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now' | 'steady'>,
    @Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'debug'>,
  ) {
    const read = async (): Promise<void> => {
      this.#known = { refusals: await reader.standing(), at: clock.steady() };
    };
    this.#reading = new CachedPromise(read, FRESH_MS, () => clock.steady());
  }

  /** Announces a request: a stale state is read again. */
  prepare(): void {
    this.#reading.get().catch((error: unknown) => {
      this.logger.debug(
        { err: error },
        'the catalogue could not read its list of removed and denied entries',
      );
    });
  }

  /** @returns `undefined` where no refusal is known. */
  of(entry: EntryName): 'removed' | 'denied' | undefined {
    const { clock } = this;
    if (this.#known === undefined || clock.steady() - this.#known.at > KNOWN_MS) return undefined;
    const { removed, denied } = this.#known.refusals;
    const endsAt = removed.get(entryIdNamed(entry).toString('hex'));
    if (endsAt !== undefined && endsAt > clock.now()) return 'removed';
    return denied.has(entry.payTo) || denied.has(hostOf(entry.resource)) ? 'denied' : undefined;
  }
}
