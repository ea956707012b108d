import { isMethodName } from '../../protocol/schemes/registry.js';
import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import type { SettlementState } from '../../settlement/model/settlement.js';
import { type ArchivedRow, detailsOfRow, viewOfRow } from '../archived-row.js';

/** The settlement that a row was made of, as far as it can be shown: nothing is decided by it. */
export function settlementOf(row: ArchivedRow): Settlement {
  const method = row.method ?? undefined;
  return {
    isLive: false,
    // Only we write rows, and of states that we know.
    view: viewOfRow(row, row.state as SettlementState),
    details: detailsOfRow(row, isMethodName(method) ? method : undefined),
  };
}
