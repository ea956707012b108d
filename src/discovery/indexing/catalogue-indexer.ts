import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { Clock } from '../../platform/concurrency/clock.js';
import { Rounds } from '../../platform/concurrency/rounds.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import {
  type DeclarationNotes,
  notedAt,
  type NotedClaim,
} from '../../settlement/ledger/declaration-notes.js';
import { DECLARATION_NOTES } from '../../settlement/ledger/ledger.module.js';
import type { CatalogueUpdate, CatalogueWriter, ClaimOutcome } from '../catalogue.js';
import { CatalogueSettings } from '../catalogue-settings.js';
import { type Declared, readDeclared } from '../declared.js';
import { placeNamed } from '../postgres/entry-rows.js';
import { PostgresCalls } from '../postgres/postgres-calls.js';
import { PostgresCatalogue } from '../postgres/postgres-catalogue.js';
import type { CallWriter } from '../quality/call-store.js';

const PAGE = 500;
const PAUSE_MS = 200;
const RETRY_MS = 1000;
/** Most payments are in a block by then; older claims are read less often. */
const YOUNG_MS = 30_000;
const OLD_ROUND_MS = 10_000;
/** A claim without an outcome after this time never gets one: it was not made, or its ledger was lost. */
const WAITS_MS = 86_400_000;
const UPKEEP_MS = 3_600_000;
/** A hidden entry is kept for the same time once more, to answer why it is hidden. */
const KEPT_TIMES = 2;

/**
 * Updates the catalogue from payments in the history: it reads the outcomes of claims with a declaration, writes the
 * catalogue, and only then deletes the declaration. After a crash it repeats the same, and repeated updates have no
 * further effect. Any number of processes may run it.
 */
@Injectable()
export class CatalogueIndexer {
  readonly #rounds = new Rounds(() => this.round());
  readonly #lookedAt = new Map<number, number>();
  /** When a round over a chain was last complete, or when the first could begin. */
  readonly #updatedAt: Map<number, number>;
  #upkeepAt = -Infinity;
  #isFailing = false;

  constructor(
    @Inject(DECLARATION_NOTES)
    private readonly notes: Pick<DeclarationNotes, 'read' | 'contents' | 'forget'>,
    @Inject(PostgresCatalogue) private readonly catalogue: CatalogueWriter,
    @Inject(PostgresCalls) private readonly calls: CallWriter,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'ledgerChainIds'>,
    @Inject(CatalogueSettings) private readonly settings: Pick<CatalogueSettings, 'expiryMs'>,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'info' | 'error'>,
  ) {
    this.#updatedAt = new Map(config.ledgerChainIds.map((chainId) => [chainId, clock.steady()]));
  }

  start(): void {
    this.#rounds.start();
  }

  /** Ends the work in progress; another process continues. */
  @AtShutdown('background', 'catalogue')
  async stop(): Promise<void> {
    await this.#rounds.stop();
  }

  /** By chain, the age of the last complete update, ms. */
  lags(): ReadonlyMap<number, number> {
    const now = this.clock.steady();
    return new Map([...this.#updatedAt].map(([chainId, at]) => [chainId, now - at]));
  }

  /** Processes all waiting declarations. Returns the pause before the next round. Never fails. */
  async round(): Promise<number> {
    let hasFailed = false;
    for (const chainId of this.config.ledgerChainIds) {
      try {
        await this.#update(chainId);
        this.#updatedAt.set(chainId, this.clock.steady());
      } catch (error) {
        // A failure of one chain delays no other.
        if (!this.#isFailing && !hasFailed) {
          this.logger.error(
            { err: error },
            'the catalogue cannot store declared resources; they stay queued',
          );
        }
        hasFailed = true;
      }
    }
    if (this.#isFailing && !hasFailed)
      this.logger.info('the catalogue stores declared resources again');
    this.#isFailing = hasFailed;
    return hasFailed ? RETRY_MS : PAUSE_MS;
  }

  async #update(chainId: number): Promise<void> {
    const { notes, clock, catalogue } = this;
    const now = clock.steady();
    const isOldRound = now - (this.#lookedAt.get(chainId) ?? -Infinity) >= OLD_ROUND_MS;
    let after = isOldRound ? undefined : `${clock.now() - YOUNG_MS}-0`;
    for (;;) {
      const page = await notes.read(chainId, after, PAGE);
      await this.#updatePage(chainId, page);
      after = page.at(-1)?.entry;
      if (page.length < PAGE || this.#rounds.isStopping) break;
    }
    if (isOldRound) this.#lookedAt.set(chainId, now);
    if (now - this.#upkeepAt < UPKEEP_MS) return;
    await catalogue.forget(new Date(clock.now() - KEPT_TIMES * this.settings.expiryMs));
    this.#upkeepAt = now;
  }

  async #updatePage(chainId: number, page: readonly NotedClaim[]): Promise<void> {
    if (page.length === 0) return;
    const { notes, catalogue, calls, clock } = this;
    const ids = page.map(({ settlementId }) => settlementId);
    const outcomes = await catalogue.outcomes(chainId, [...new Set(ids)]);
    const outcomeOf = ({ settlementId }: NotedClaim): ClaimOutcome =>
      outcomes.get(settlementId) ?? 'waiting';
    const isDone = (claim: NotedClaim): boolean =>
      outcomeOf(claim) !== 'waiting' || clock.now() - notedAt(claim) > WAITS_MS;
    const done = page.filter(isDone);
    const paid = done.filter((claim) => typeof outcomeOf(claim) === 'object');
    // Unpaid claims too, because they count as failed settles.
    const over = done.filter((claim) => outcomeOf(claim) !== 'waiting');
    const contents = await notes.contents(chainId, [...new Set(over.map(({ tag }) => tag))]);
    const declared = new Map(
      [...contents].map(([tag, content]) => [tag, readDeclared(content)] as const),
    );
    const updates = paid.flatMap((claim) => updateOf(outcomeOf(claim), declared.get(claim.tag)));
    if (updates.length > 0) {
      const { listed, refused } = await catalogue.update(updates);
      // Logged without texts of sellers.
      if (refused > 0) {
        this.logger.info(
          { chainId, listed, refused },
          'some declared resources are not listed in the catalogue',
        );
      }
    }
    const linked = over.flatMap((claim) => {
      const what = declared.get(claim.tag);
      return what !== undefined && 'listing' in what
        ? [{ settlementId: claim.settlementId, listing: what.listing }]
        : [];
    });
    await calls.link(chainId, linked, new Date(clock.now()));
    await notes.forget(chainId, done);
  }
}

function updateOf(
  outcome: ClaimOutcome,
  declared: Declared | undefined,
): readonly CatalogueUpdate[] {
  if (typeof outcome === 'string' || declared === undefined) return [];
  return [
    {
      paid: outcome,
      declared: outcome.isWorthless
        ? {
            code: 'nothing_paid',
            ...('listing' in declared && placeNamed(declared.listing)),
          }
        : declared,
    },
  ];
}
