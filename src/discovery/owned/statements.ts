import type { Address, Hex } from 'viem';
import { ArchiveError } from '../../history/archive.js';
import { CodedError } from '../../platform/http/coded-error.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { caip2Of } from '../../protocol/payment/network.js';
import {
  type EntryName,
  readStatement,
  type SignedStatement,
  type Statement,
  type StatementAction,
} from './statement.js';

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

/** @throws ChainUnavailableError */
export type IsSignedBy = (
  signer: { readonly chainId: number; readonly address: Address },
  digest: Hex,
  signature: Hex,
) => Promise<boolean>;

interface StatementsParts {
  /** `undefined` where there is no catalogue. */
  readonly store: StatementStore | undefined;
  /** As others reach it: it is part of what is signed. `undefined` where nobody has said. */
  readonly catalogueUrl: string | undefined;
  readonly isSignedBy: IsSignedBy;
  readonly now: () => number;
}

/** An older one may have been seen by anybody, and waited for. */
const LIFETIME_MS = 3_600_000;
/** As far as clocks go wrong. */
const AHEAD_MS = 300_000;

const DONE = {
  remove: { code: 'removed', message: 'It is not listed any more, whoever pays for it.' },
  correct: { code: 'corrected', message: 'It is listed with these words, whatever is declared.' },
  restore: { code: 'restored', message: 'What the next payment declares is listed again.' },
} as const satisfies Record<StatementAction, object>;

/** Takes what payees sign about their entries. What costs most is asked last. */
export class Statements {
  constructor(private readonly parts: StatementsParts) {}

  /** @throws CodedError */
  async accept(body: unknown): Promise<Readonly<Record<string, unknown>>> {
    const { store, catalogueUrl } = this.parts;
    if (store === undefined || catalogueUrl === undefined) {
      throw new CodedError(404, 'statements_off', 'This deployment takes no statements.');
    }
    const signed = readStatement(body, catalogueUrl);
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
    const now = this.parts.now();
    if (issuedAt > now + AHEAD_MS) {
      throw new CodedError(400, 'statement_early', 'issuedAt is more than 5 minutes ahead.');
    }
    if (issuedAt < now - LIFETIME_MS || (endsAt !== undefined && endsAt <= now)) {
      throw new CodedError(
        ...([400, 'statement_expired'] as const),
        'issuedAt is more than an hour ago, or until is over: sign it anew.',
      );
    }
  }

  async #refuseForged({ statement, digest, signature }: SignedStatement): Promise<void> {
    const { chainId, payTo: address } = statement;
    const isSigned = await this.#asked(
      this.parts.isSignedBy({ chainId, address }, digest, signature),
    );
    if (isSigned) return;
    throw new CodedError(
      ...([403, 'wrong_signer'] as const),
      'The signature is not of payTo over this statement, for this catalogue and network.',
    );
  }

  async #asked<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof ArchiveError) {
        const message = 'The catalogue cannot be asked now; ask again.';
        throw new CodedError(503, 'catalogue_unavailable', message, error);
      }
      if (error instanceof ChainUnavailableError) {
        const message = 'The network cannot be asked now; ask again.';
        throw new CodedError(503, 'network_unavailable', message, error);
      }
      throw error;
    }
  }
}

function unknown(): CodedError {
  return new CodedError(
    ...([404, 'entry_unknown'] as const),
    'There is no entry of this network, payTo, type, resource and call.',
  );
}

function stale(): CodedError {
  return new CodedError(
    ...([409, 'statement_used'] as const),
    'A statement of this entry with this issuedAt, or a later one, was taken before.',
  );
}
