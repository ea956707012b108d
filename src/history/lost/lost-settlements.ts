import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { Clock } from '../../platform/concurrency/clock.js';
import { Rounds } from '../../platform/concurrency/rounds.js';
import { settleAll } from '../../platform/concurrency/timing.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import { ChainUnavailableError, RedisUnavailableError } from '../../protocol/errors.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { OUTBOX } from '../../settlement/ledger/ledger.module.js';
import type { Outbox } from '../../settlement/ledger/outbox.js';
import { type Archive, ArchiveError } from '../archive.js';
import { HistoryObserver } from '../history-observer.js';
import { HistoryTables } from '../history-tables.js';
import { bytesOf } from '../postgres/bytea.js';
import { PostgresArchive } from '../postgres/postgres-archive.js';
import { PostgresUnfinished } from '../postgres/postgres-unfinished.js';
import type { SettlementRow } from '../settlement-row.js';
import type { LostEnding, LostOutcome, LostOutcomes, LostPlace } from './lost-outcome.js';
import { type UnfinishedSettlements, versionAfter } from './unfinished.js';

/** The view of the chain for one round. */
export interface OpenedChain {
  readonly outcomes: Pick<LostOutcomes, 'resolve'>;
  close(): Promise<void>;
}

/** Ledger and chain, which together show how settlements ended. */
export interface LostSources {
  /**
   * Ids that the ledger still holds.
   *
   * @throws RedisUnavailableError
   */
  held(chainId: number, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** @throws ChainUnavailableError */
  open(chainId: number): Promise<OpenedChain>;
}

export const LostSources = Symbol('LostSources');

/**
 * Time after the deadline in which the ledger still decides. Lanes and requesters repair a ledger that lost data
 * within ten seconds.
 */
const GRACE_MS = 20_000;
/** Maximum settlements of one chain in a round; each costs several RPC calls. */
const MOST = 20;
const AT_ONCE = 5;
const PAUSE_MS = 10_000;

/**
 * Resolves archived settlements that are unfinished because the ledger lost them. Without this, a client with a `202`
 * or a hash would see them as pending for ever. It takes settlements whose deadline has passed and that the ledger no
 * longer knows; the chain shows how they ended. Before the deadline it takes those that a lost ledger left in a block,
 * because that block may have been replaced. The ledger takes precedence: its later records replace the result,
 * and its newer records are not replaced. Several processes may run it at once.
 */
@Injectable()
export class LostSettlements implements OnModuleInit {
  readonly #rounds = new Rounds(() => this.round());

  constructor(
    @Inject(PostgresUnfinished) private readonly unfinished: UnfinishedSettlements,
    @Inject(PostgresArchive) private readonly archive: Pick<Archive, 'epochNumber'>,
    @Inject(OUTBOX) private readonly outbox: Pick<Outbox, 'now' | 'backlog'>,
    @Inject(LostSources) private readonly sources: LostSources,
    @Inject(HistoryObserver) private readonly observer: Pick<HistoryObserver, 'resolvedLost'>,
    @Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'debug' | 'warn' | 'error'>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
    @Inject(AppConfig)
    private readonly config: { readonly networks: readonly { readonly chainId: number }[] },
    @Inject(HistoryTables) private readonly tables: Pick<HistoryTables, 'whenThere'>,
  ) {}

  onModuleInit(): void {
    this.tables.whenThere(() => {
      this.#rounds.start();
    });
  }

  @AtShutdown('background', 'lost settlements')
  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /** Searches each chain once. Never fails. @returns milliseconds until the next round. */
  async round(): Promise<number> {
    let hasMore = false;
    for (const { chainId } of this.config.networks) {
      if (this.#rounds.isStopping) break;
      try {
        if (await this.#look(chainId)) hasMore = true;
      } catch (error) {
        this.#logFailure(chainId, error);
      }
    }
    return hasMore ? 0 : PAUSE_MS;
  }

  /** @returns whether there may be more. */
  async #look(chainId: number): Promise<boolean> {
    const { unfinished, outbox, archive, clock } = this;
    const overdueMs = clock.now() - GRACE_MS;
    // The missing record may still wait in the backlog.
    if ((await outbox.backlog(chainId)).oldestMs > GRACE_MS / 2) return false;
    // Requested before the ledger is read, so a later epoch cannot have a number yet.
    const epoch = await archive.epochNumber(await outbox.now(chainId));
    const overdue = { deadline: Math.floor(overdueMs / 1000), writtenMs: overdueMs, epoch };
    const rows = await unfinished.take(chainId, overdue, MOST);
    const known = await this.sources.held(chainId, rows.map(idOf));
    const lost = rows.filter((row) => !known.has(idOf(row)));
    if (lost.length > 0) await this.#resolve(chainId, epoch, lost);
    return rows.length === MOST;
  }

  async #resolve(chainId: number, epoch: number, lost: readonly SettlementRow[]): Promise<void> {
    const { observer, logger } = this;
    const opened = await this.sources.open(chainId);
    try {
      for (let at = 0; at < lost.length && !this.#rounds.isStopping; at += AT_ONCE) {
        await settleAll(
          lost.slice(at, at + AT_ONCE).map(async (row) => {
            const outcome = await this.#search(opened, epoch, row);
            logger.warn(
              { network: caip2Of(chainId), settlementId: idOf(row), outcome },
              'searched the chain for a settlement that is missing from the ledger',
            );
            observer.resolvedLost(chainId, outcome);
          }),
        );
      }
    } finally {
      await opened.close();
    }
  }

  #logFailure(chainId: number, error: unknown): void {
    const { logger } = this;
    const facts = { network: caip2Of(chainId), err: error };
    // Other parts report an outage of Redis, PostgreSQL and endpoints.
    if (isOutage(error)) logger.debug(facts, 'cannot search for lost settlements now');
    else logger.error(facts, 'the search for lost settlements failed; retrying');
  }

  async #search(
    { outcomes }: OpenedChain,
    epoch: number,
    row: SettlementRow,
  ): Promise<LostOutcome> {
    const result = await outcomes.resolve(row);
    if (result.kind === 'unresolved') return result.why;
    const version = versionAfter(row, epoch);
    if (version === undefined) return 'outdated';
    const { unfinished, clock } = this;
    const now =
      result.kind === 'ended'
        ? endedRow(row, result.ending, clock.now())
        : reorgedRow(row, result.place);
    const isWritten = await unfinished.replace(row, { ...now, ...version });
    if (!isWritten) return 'outdated';
    return result.kind === 'ended' ? result.ending.state : 'reorged';
  }
}

const idOf = ({ id }: SettlementRow): string => id.toString('base64url');

/** The row with its end. Sale and acknowledgement do not change. */
function endedRow(
  row: SettlementRow,
  { state, isPaid, reason, place }: LostEnding,
  now: number,
): SettlementRow {
  const hash = place && bytesOf(place.transaction);
  const isNew = hash !== undefined && row.transactions?.some((one) => one.equals(hash)) === false;
  return {
    ...row,
    state,
    is_paid: isPaid,
    reason: reason ?? null,
    // A known hash stays in every answer.
    transaction: hash ?? row.transaction,
    block_number: place?.blockNumber.toString() ?? null,
    block_hash: place ? bytesOf(place.blockHash) : null,
    log_index: place?.logIndex ?? null,
    batch_size: state === 'foreign' ? (isPaid ? 1 : null) : row.batch_size,
    // A payment that was answered with 202 counts as acknowledged once it is paid.
    is_told: row.is_told || (row.is_async && isPaid),
    transactions: state === 'finalized' && isNew ? [...row.transactions, hash] : row.transactions,
    included_at: isPaid ? (row.included_at ?? new Date((place?.blockTime ?? 0) * 1000)) : null,
    finished_at: new Date(now),
    // No ledger can sell the payment any more, and no sweep finds it, so it counts as undelivered.
    unclaimed_at: isPaid && row.sale === 'open' ? (row.unclaimed_at ?? new Date(now)) : null,
  };
}

/** The row of a payment whose block was replaced. It can still be broadcast again, so it keeps its hash. */
function reorgedRow(row: SettlementRow, place: LostPlace | undefined): SettlementRow {
  return {
    ...row,
    state: place === undefined ? 'broadcast' : 'included',
    is_paid: place !== undefined,
    transaction: place ? bytesOf(place.transaction) : row.transaction,
    block_number: place?.blockNumber.toString() ?? null,
    block_hash: place ? bytesOf(place.blockHash) : null,
    log_index: place?.logIndex ?? null,
    included_at: place ? new Date(place.blockTime * 1000) : null,
  };
}

/** Whether the error is an outage, which needs no error log, because the next round retries. */
function isOutage(error: unknown): boolean {
  return (
    error instanceof ArchiveError ||
    error instanceof RedisUnavailableError ||
    error instanceof ChainUnavailableError
  );
}
