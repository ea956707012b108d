import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../../platform/config/app-config.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import { whileStarting } from '../../platform/redis/while-starting.js';
import { SETTLEMENT_STORE } from '../../settlement/ledger/ledger.module.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';
import type {
  AcknowledgedSale,
  AcknowledgedWithdrawal,
  SettlementStore,
} from '../../settlement/ledger/settlement-store.js';
import { BACKGROUND_STEP_FAILED, DeferredSteps } from './deferred-steps.js';
import { Presence } from './presence.js';
import { RecentAnswers } from './recent-answers.js';

export const LEDGER_WENT_BACK =
  'Redis restarted or lost its newest writes: nothing is sold for 3 to 20 seconds';

/**
 * The answers that this process has given. A sale whose answer did not arrive is rolled back, and the answers are
 * replayed to a ledger that went back.
 */
@Injectable()
export class AcknowledgedAnswers implements OnModuleInit, OnModuleDestroy {
  readonly #sales: RecentAnswers<AcknowledgedSale>;
  readonly #withdrawals: RecentAnswers<AcknowledgedWithdrawal>;
  readonly #presence: Presence;

  constructor(
    @Inject(SETTLEMENT_STORE) private readonly store: SettlementStore,
    private readonly deferred: DeferredSteps,
    @Inject(ProcessRegistry) { processId }: Pick<ProcessRegistry, 'processId'>,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'networks'>,
    @Inject(PinoLogger) logger: Pick<PinoLogger, 'warn'>,
  ) {
    store.onEpochChange((chainId) => {
      logger.warn({ chainId }, LEDGER_WENT_BACK);
    });
    const failed = (what: string) => (err: unknown) => {
      logger.warn({ what, err }, BACKGROUND_STEP_FAILED);
    };
    this.#sales = new RecentAnswers((sale) => store.replaySale(sale), failed('replaying a sale'));
    const notWithdrawn = failed('replaying a withdrawal');
    this.#withdrawals = new RecentAnswers(async (withdrawal) => {
      const isNotSent = await store.replayWithdrawal(withdrawal);
      if (!isNotSent)
        notWithdrawn(
          new Error(`a transaction of the withdrawn settlement ${withdrawal.ref.id} was sent`),
        );
      return true;
    }, notWithdrawn);
    this.#presence = new Presence(
      store,
      processId,
      [this.#sales, this.#withdrawals],
      failed('showing that this process lives'),
    );
  }

  /**
   * Before the first request: a ledger that lost its newest writes waits until this process has replayed its answers.
   */
  async onModuleInit(): Promise<void> {
    const chainIds = this.config.networks.map(({ chainId }) => chainId);
    await whileStarting('REDIS_URL', () => this.#presence.start(chainIds));
  }

  onModuleDestroy(): void {
    this.#presence.stop();
  }

  /** A step that waits for Redis is unfinished work, so the ledgers must stay open for it. */
  @AtShutdown('ledgers', 'presence')
  async depart(): Promise<void> {
    if (this.deferred.count === 0) await this.#presence.depart();
  }

  /**
   * Records a sale before its requester gets success or 202.
   *
   * @returns rolls the sale back, for an answer that did not arrive.
   */
  sold(sale: AcknowledgedSale): () => Promise<void> {
    const { ref, authorizationId, requester, isAccepted } = sale;
    this.#sales.note(sale);
    return async () => {
      this.#sales.withdrawn(sale);
      await this.deferred.runOrDefer(async () => {
        await this.store.rollBack(ref, authorizationId, requester);
        // After a 202 no requester waits, so the requester leaves at once.
        if (isAccepted) await this.store.leave(ref, requester, 'closed', undefined);
      });
    };
  }

  /** Records a withdrawal before its requester is answered that no transaction was sent and none will be. */
  withdrawn(withdrawal: AcknowledgedWithdrawal): void {
    this.#withdrawals.note(withdrawal);
  }
}
