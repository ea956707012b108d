import { Module } from '@nestjs/common';
import { AppConfig } from '../../platform/config/app-config.js';
import { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import { AuditTrail } from './audit-trail.js';
import { LedgerEpochs } from './epoch.js';
import { LedgerScripts } from './ledger-scripts.js';
import { LaneQueries } from './queries/lane-queries.js';
import { LaneStatuses } from './queries/lane-statuses.js';
import { LaneSwitches } from './queries/lane-switches.js';
import { SettlementQueries } from './queries/settlement-queries.js';
import { UnclaimedList } from './queries/unclaimed-list.js';
import { RedisDeclarationNotes } from './redis-declaration-notes.js';
import { RedisEvictableSettlements } from './redis-evictable-settlements.js';
import { RedisLabelStore } from './redis-label-store.js';
import {
  RedisLaneAttempts,
  RedisLaneEndings,
  RedisLaneLeases,
  RedisLaneQueue,
} from './redis-lane-store.js';
import { RedisOutbox } from './redis-outbox.js';
import { RedisRefillStore } from './redis-refill-store.js';
import { RedisSettlementStore } from './redis-settlement-store.js';

// Tokens of the ports of this room, named like their interfaces.
export const SETTLEMENT_STORE = Symbol('SETTLEMENT_STORE');
export const LABEL_STORE = Symbol('LABEL_STORE');
/** Declarations of sellers, for the catalogue. */
export const DECLARATION_NOTES = Symbol('DECLARATION_NOTES');
export const LANE_LEASES = Symbol('LANE_LEASES');
export const LANE_QUEUE = Symbol('LANE_QUEUE');
export const LANE_ATTEMPTS = Symbol('LANE_ATTEMPTS');
export const LANE_ENDINGS = Symbol('LANE_ENDINGS');
export const REFILL_STORE = Symbol('REFILL_STORE');
export const OUTBOX = Symbol('OUTBOX');
export const EVICTABLE_SETTLEMENTS = Symbol('EVICTABLE_SETTLEMENTS');

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
    LedgerScripts,
    { provide: SETTLEMENT_STORE, useClass: RedisSettlementStore },
    { provide: LABEL_STORE, useClass: RedisLabelStore },
    { provide: DECLARATION_NOTES, useClass: RedisDeclarationNotes },
    { provide: LANE_LEASES, useClass: RedisLaneLeases },
    { provide: LANE_QUEUE, useClass: RedisLaneQueue },
    { provide: LANE_ATTEMPTS, useClass: RedisLaneAttempts },
    { provide: LANE_ENDINGS, useClass: RedisLaneEndings },
    { provide: REFILL_STORE, useClass: RedisRefillStore },
    SettlementQueries,
    LaneQueries,
    { provide: OUTBOX, useClass: RedisOutbox },
    { provide: EVICTABLE_SETTLEMENTS, useClass: RedisEvictableSettlements },
    AuditTrail,
    LaneStatuses,
    LaneSwitches,
    UnclaimedList,
  ],
  exports: [
    SETTLEMENT_STORE,
    LABEL_STORE,
    DECLARATION_NOTES,
    LANE_LEASES,
    LANE_QUEUE,
    LANE_ATTEMPTS,
    LANE_ENDINGS,
    REFILL_STORE,
    SettlementQueries,
    LaneQueries,
    OUTBOX,
    EVICTABLE_SETTLEMENTS,
    AuditTrail,
    LaneStatuses,
    LaneSwitches,
    UnclaimedList,
  ],
})
export class LedgerModule {}
