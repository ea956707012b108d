import { Inject, Injectable, Optional } from '@nestjs/common';
import { ArchiveError } from '../../history/archive.js';
import { Clock } from '../../platform/concurrency/clock.js';
import { CodedError } from '../../platform/http/coded-error.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { CatalogueSettings } from '../catalogue-settings.js';
import { CatalogueStatementDto } from './dto/catalogue-statement.dto.js';
import { PayeeSignatures } from './payee-signatures.js';
import {
  type EntryName,
  type SignedStatement,
  signedStatement,
  type Statement,
  type StatementAction,
} from './statement.js';

/** {@link StatementStore}; missing where there is no catalogue. */
export const StatementStore = Symbol('StatementStore');

/** What payees have said of their entries. @throws ArchiveError from every method. */
export interface StatementStore {
  /** Whether there is such an entry, or was and its payee has spoken; and when it spoke last, milliseconds. */
  standing(entry: EntryName): Promise<{ readonly lastIssuedAt: number | undefined } | undefined>;

  /**
   * In one step with what it changes of the entry.
   *
   * @returns `stale` where one that was issued then, or later, was taken before.
   */
  write(statement: Statement): Promise<'written' | 'stale' | 'unknown'>;
}

/** An older one may have been seen by anybody, and waited for. */
const LIFETIME_MS = 3_600_000;
/** As far as clocks go wrong. */
const AHEAD_MS = 300_000;

const DONE = {
  remove: { code: 'removed', message: 'The entry is removed, and no payment lists it again.' },
  correct: {
    code: 'corrected',
    message: 'The entry shows these texts, whatever later payments declare.',
  },
  restore: {
    code: 'restored',
    message: 'The statement is withdrawn: the entry follows the next payment that declares it.',
  },
} as const satisfies Record<StatementAction, object>;

/** Takes what payees sign about their entries. What costs most is asked last. */
@Injectable()
export class Statements {
  constructor(
    @Inject(CatalogueSettings) private readonly settings: Pick<CatalogueSettings, 'url'>,
    @Inject(PayeeSignatures) private readonly signatures: Pick<PayeeSignatures, 'isSignedBy'>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
    @Optional() @Inject(StatementStore) private readonly store?: StatementStore,
  ) {}

  /** @throws CodedError */
  async accept(body: CatalogueStatementDto): Promise<Readonly<Record<string, unknown>>> {
    const { store } = this;
    const { url } = this.settings;
    if (store === undefined || url === undefined) {
      throw new CodedError(404, 'statements_off', 'This deployment accepts no statements.');
    }
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
      throw new CodedError(400, 'statement_early', 'issuedAt is more than 5 minutes ahead.');
    }
    if (issuedAt < now - LIFETIME_MS || (endsAt !== undefined && endsAt <= now)) {
      throw new CodedError(
        ...([400, 'statement_expired'] as const),
        'issuedAt is more than an hour ago, or until has passed: sign a new statement.',
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
      ...([403, 'wrong_signer'] as const),
      'The signature is not by payTo, or is over another statement, catalogue or network.',
    );
  }

  async #asked<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof ArchiveError) {
        const message = 'The catalogue is unavailable. Try again.';
        throw new CodedError(503, 'catalogue_unavailable', message, error);
      }
      if (error instanceof ChainUnavailableError) {
        const message = 'The network is unavailable. Try again.';
        throw new CodedError(503, 'network_unavailable', message, error);
      }
      throw error;
    }
  }
}

function unknown(): CodedError {
  return new CodedError(
    ...([404, 'entry_unknown'] as const),
    'The catalogue has no entry with this network, payTo, type, resource and call.',
  );
}

function stale(): CodedError {
  return new CodedError(
    ...([409, 'statement_used'] as const),
    'A statement about this entry with this issuedAt, or a later one, was accepted before.',
  );
}
