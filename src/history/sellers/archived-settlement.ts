import { isMethodName } from '../../protocol/schemes/registry.js';
import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import type { SettlementState } from '../../settlement/model/settlement.js';
import { type ArchivedRow, detailsOfRow, viewOfRow } from '../archived-row.js';

/** The settlement of a row, only to be shown: no decision depends on it. */
export function settlementOf(row: ArchivedRow): Settlement {
  const method = row.method ?? undefined;
  return {
    isLive: false,
    // Rows are written only by this service, with known states.
    view: viewOfRow(row, row.state as SettlementState),
    details: detailsOfRow(row, isMethodName(method) ? method : undefined),
  };
}
