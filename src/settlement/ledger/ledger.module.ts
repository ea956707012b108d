import { Global, Module } from '@nestjs/common';
import { AppConfig } from '../../platform/config/app-config.js';
import { LedgerConnections, type SharedRedis } from '../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';
import { type AuditTrail, RedisAuditTrail } from './audit-trail.js';
import type { CooledSettlements } from './cooled-settlements.js';
import type { DeclarationNotes } from './declaration-notes.js';
import { LedgerEpochs } from './epoch.js';
import type { LabelStore } from './label-store.js';
import type { LaneStore } from './lane-store.js';
import type { Outbox } from './outbox.js';
import type { LaneQueries } from './queries/lane-queries.js';
import { LaneStatuses } from './queries/lane-statuses.js';
import { LaneSwitches } from './queries/lane-switches.js';
import { RedisLaneQueries } from './queries/redis-lane-queries.js';
import { RedisSettlementQueries } from './queries/redis-settlement-queries.js';
import type { SettlementQueries } from './queries/settlement-queries.js';
import { RedisCooledSettlements } from './redis-cooled-settlements.js';
import { RedisDeclarationNotes } from './redis-declaration-notes.js';
import { RedisLabelStore } from './redis-label-store.js';
import { RedisLaneStore } from './redis-lane-store.js';
import { RedisOutbox } from './redis-outbox.js';
import { RedisRefillStore } from './redis-refill-store.js';
import { RedisSettlementStore } from './redis-settlement-store.js';
import type { RefillStore } from './refill-store.js';
import { SETTLEMENT_ARCHIVE, type SettlementArchive } from './settlement-archive.js';
import type { SettlementStore } from './settlement-store.js';

/** {@link SettlementStore}. */
export const SETTLEMENT_STORE = Symbol('SETTLEMENT_STORE');
/** {@link LabelStore}. */
export const LABEL_STORE = Symbol('LABEL_STORE');
/** {@link DeclarationNotes}. */
export const DECLARATION_NOTES = Symbol('DECLARATION_NOTES');
/** {@link LaneStore}. */
export const LANE_STORE = Symbol('LANE_STORE');
/** {@link RefillStore}. */
export const REFILL_STORE = Symbol('REFILL_STORE');
/** {@link SettlementQueries}. */
export const SETTLEMENT_QUERIES = Symbol('SETTLEMENT_QUERIES');
/** {@link LaneQueries}. */
export const LANE_QUERIES = Symbol('LANE_QUERIES');
/** {@link Outbox}. */
export const OUTBOX = Symbol('OUTBOX');
/** {@link CooledSettlements}. */
export const COOLED_SETTLEMENTS = Symbol('COOLED_SETTLEMENTS');
/** {@link AuditTrail}. */
export const AUDIT_TRAIL = Symbol('AUDIT_TRAIL');

@Global()
@Module({
  providers: [
    {
      provide: LedgerEpochs,
      inject: [LedgerConnections, AppConfig],
      useFactory: async (ledger: LedgerConnections, config: AppConfig): Promise<LedgerEpochs> => {
        const epochs = new LedgerEpochs(ledger, config.history !== undefined);
        await epochs.start(config.ledgerChainIds);
        return epochs;
      },
    },
    {
      provide: SETTLEMENT_STORE,
      inject: [LedgerConnections, LedgerEpochs, AppConfig],
      useFactory: (
        ledger: LedgerConnections,
        epochs: LedgerEpochs,
        config: AppConfig,
      ): SettlementStore => new RedisSettlementStore(ledger, epochs, config),
    },
    {
      provide: LABEL_STORE,
      inject: [LEDGER_REDIS, AppConfig],
      useFactory: (redis: SharedRedis, { retentionSeconds }: AppConfig): LabelStore =>
        new RedisLabelStore(redis, retentionSeconds),
    },
    {
      provide: DECLARATION_NOTES,
      inject: [LedgerConnections],
      useFactory: (ledger: LedgerConnections): DeclarationNotes =>
        new RedisDeclarationNotes(ledger),
    },
    {
      provide: LANE_STORE,
      inject: [LedgerConnections, LedgerEpochs, AppConfig, SETTLEMENT_ARCHIVE],
      useFactory: (
        ledger: LedgerConnections,
        epochs: LedgerEpochs,
        config: AppConfig,
        archive: SettlementArchive,
      ): LaneStore => new RedisLaneStore(ledger, epochs, config, archive),
    },
    {
      provide: REFILL_STORE,
      inject: [LedgerConnections, LedgerEpochs, AppConfig],
      useFactory: (
        ledger: LedgerConnections,
        epochs: LedgerEpochs,
        config: AppConfig,
      ): RefillStore => new RedisRefillStore(ledger, epochs, config),
    },
    {
      provide: SETTLEMENT_QUERIES,
      inject: [LedgerConnections, LedgerEpochs, SETTLEMENT_ARCHIVE],
      useFactory: (
        ledger: LedgerConnections,
        epochs: LedgerEpochs,
        archive: SettlementArchive,
      ): SettlementQueries => new RedisSettlementQueries(ledger, epochs, archive),
    },
    {
      provide: LANE_QUERIES,
      inject: [LedgerConnections, AppConfig],
      useFactory: (ledger: LedgerConnections, config: AppConfig): LaneQueries =>
        new RedisLaneQueries(ledger, config.ledgerChainIds),
    },
    {
      provide: OUTBOX,
      inject: [LedgerConnections, LedgerEpochs],
      useFactory: (ledger: LedgerConnections, epochs: LedgerEpochs): Outbox =>
        new RedisOutbox(ledger, epochs),
    },
    {
      provide: COOLED_SETTLEMENTS,
      inject: [LedgerConnections, LedgerEpochs],
      useFactory: (ledger: LedgerConnections, epochs: LedgerEpochs): CooledSettlements =>
        new RedisCooledSettlements(ledger, epochs),
    },
    {
      provide: AUDIT_TRAIL,
      inject: [LedgerConnections],
      useFactory: (ledger: LedgerConnections): AuditTrail => new RedisAuditTrail(ledger),
    },
    {
      provide: LaneStatuses,
      inject: [LEDGER_REDIS],
      useFactory: (redis: SharedRedis) => new LaneStatuses(redis),
    },
    {
      provide: LaneSwitches,
      inject: [LedgerConnections, AppConfig],
      useFactory: (ledger: LedgerConnections, config: AppConfig) =>
        new LaneSwitches(ledger, config.history !== undefined),
    },
  ],
  exports: [
    SETTLEMENT_STORE,
    LABEL_STORE,
    DECLARATION_NOTES,
    LANE_STORE,
    REFILL_STORE,
    SETTLEMENT_QUERIES,
    LANE_QUERIES,
    OUTBOX,
    COOLED_SETTLEMENTS,
    AUDIT_TRAIL,
    LedgerEpochs,
    LaneStatuses,
    LaneSwitches,
  ],
})
export class LedgerModule {}
