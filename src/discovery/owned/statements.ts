import { Inject, Injectable, Optional } from '@nestjs/common';
import { Clock } from '../../platform/concurrency/clock.js';
import { CodedError } from '../../platform/http/coded-error.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { CatalogueStatementTaken } from '../asking/dto/discovery.response.js';
import { fromCatalogue } from '../catalogue-problems.js';
import { CatalogueSettings } from '../catalogue-settings.js';
import { MEANINGS } from '../codes.js';
import { CatalogueStatementDto } from './dto/catalogue-statement.dto.js';
import { PayeeSignatures } from './payee-signatures.js';
import {
  type EntryName,
  type SignedStatement,
  signedStatement,
  type Statement,
  type StatementAction,
} from './statement.js';

/** {@link StatementStore}; missing without a catalogue. */
export const StatementStore = Symbol('StatementStore');

/** Statements of payees about their entries. @throws ArchiveError from every method. */
export interface StatementStore {
  /**
   * Whether there is such an entry, or a statement about a former one, with the time of the newest statement,
   * milliseconds.
   */
  standing(entry: EntryName): Promise<{ readonly lastIssuedAt: number | undefined } | undefined>;

  /**
   * In one step with its change of the entry.
   *
   * @returns `stale` where a statement with the same or a later time was accepted.
   */
  write(statement: Statement): Promise<'written' | 'stale' | 'unknown'>;
}

/** An older statement may have been copied and held back by another party. */
const LIFETIME_MS = 3_600_000;
/** Tolerance for wrong clocks. */
const AHEAD_MS = 300_000;

const DONE = {
  remove: {
    code: 'removed',
    message: 'The entry is removed. Later payments do not list it again.',
  },
  correct: {
    code: 'corrected',
    message: 'The entry shows these texts, and later payments do not change them.',
  },
  restore: {
    code: 'restored',
    message: 'The statement is withdrawn. The next payment that declares the entry updates it.',
  },
} as const satisfies Record<StatementAction, object>;

/** Accepts statements of payees about their entries. The most expensive checks come last. */
@Injectable()
export class Statements {
  constructor(
    @Inject(CatalogueSettings) private readonly settings: Pick<CatalogueSettings, 'url'>,
    @Inject(PayeeSignatures) private readonly signatures: Pick<PayeeSignatures, 'isSignedBy'>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
    @Optional() @Inject(StatementStore) private readonly store?: StatementStore,
  ) {}

  /** @throws CodedError 404 `statements_off` without a catalogue, or without its public URL. */
  needs(): { readonly store: StatementStore; readonly url: string } {
    const { store } = this;
    const { url } = this.settings;
    if (store === undefined) throw statementsOff(MEANINGS.catalogue_off);
    if (url === undefined) throw statementsOff('Statements are off: `CATALOGUE_URL` is not set.');
    return { store, url };
  }

  /** @throws CodedError */
  async accept(body: CatalogueStatementDto): Promise<CatalogueStatementTaken> {
    const { store, url } = this.needs();
    const signed = signedStatement(body, url);
    const { statement } = signed;
    this.#refuseLate(statement);
    const known = await this.#asked(store.standing(statement));
    if (known === undefined) throw unknown();
    if (statement.issuedAt <= (known.lastIssuedAt ?? 0)) throw stale();
    await this.#refuseForged(signed);
    const written = await this.#asked(store.write(statement));
    if (written === 'unknown') throw unknown();
    if (written === 'stale') throw stale();
    const { chainId, payTo, type, resource, call, words, endsAt, action } = statement;
    return {
      ...DONE[action],
      network: caip2Of(chainId),
      payTo,
      type,
      resource,
      call,
      ...(action === 'correct' && { words }),
      ...(endsAt !== undefined && { until: new Date(endsAt).toISOString() }),
    };
  }

  #refuseLate({ issuedAt, endsAt }: Statement): void {
    const now = this.clock.now();
    if (issuedAt > now + AHEAD_MS) {
      throw new CodedError(
        400,
        'statement_early',
        '`issuedAt` is more than 5 minutes in the future.',
        {
          place: { path: 'statement.issuedAt', expected: 'at most 5 minutes in the future' },
        },
      );
    }
    if (issuedAt < now - LIFETIME_MS || (endsAt !== undefined && endsAt <= now)) {
      throw new CodedError(
        400,
        'statement_expired',
        '`issuedAt` is more than an hour ago, or `until` has passed. Sign a new statement.',
      );
    }
  }

  async #refuseForged({ statement, digest, signature }: SignedStatement): Promise<void> {
    const { chainId, payTo: address } = statement;
    const isSigned = await this.#asked(
      this.signatures.isSignedBy({ chainId, address }, digest, signature),
    );
    if (isSigned) return;
    throw new CodedError(
      403,
      'wrong_signer',
      'The signature is not by `payTo`, or it is for another statement, catalogue or network.',
    );
  }

  async #asked<T>(answer: Promise<T>): Promise<T> {
    try {
      return await fromCatalogue(answer);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      const message = 'The network is unavailable. Try again.';
      throw new CodedError(503, 'network_unavailable', message, { cause: error });
    }
  }
}

const statementsOff = (message: string): CodedError =>
  new CodedError(404, 'statements_off', message);

function unknown(): CodedError {
  return new CodedError(
    404,
    'entry_unknown',
    'The catalogue has no entry with this network, payTo, type, resource and call.',
  );
}

function stale(): CodedError {
  return new CodedError(
    409,
    'statement_used',
    'A statement about this entry with the same or a later issuedAt was already accepted.',
  );
}
