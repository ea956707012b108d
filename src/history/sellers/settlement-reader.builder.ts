import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import type { SettlementRow } from '../settlement-row.js';
import { settlementOf } from './archived-settlement.js';
import type { SettlementFilter } from './settlement-filter.js';
import type { ArchivedSettlement, Position, SettlementReader } from './settlement-reader.js';

/** {@link SettlementReader} of rows in memory: the rules of the archive without the archive. */
export class MemorySettlementReader implements SettlementReader {
  constructor(readonly rows: SettlementRow[]) {}

  page(
    filter: SettlementFilter,
    after: Position | undefined,
    most: number,
  ): Promise<readonly ArchivedSettlement[]> {
    const found = this.rows
      .filter((row) => isAsked(row, filter))
      .sort((a, b) => newestFirst(placeOf(a), placeOf(b)))
      .filter((row) => after === undefined || newestFirst(after, placeOf(row)) < 0);
    return Promise.resolve(
      found.slice(0, most).map((row) => ({ position: placeOf(row), settlement: shown(row) })),
    );
  }

  byId(id: string): Promise<Settlement | undefined> {
    const row = this.rows.find((one) => one.id.toString('base64url') === id);
    return Promise.resolve(row && shown(row));
  }
}

const shown = (row: SettlementRow): Settlement =>
  settlementOf({ ...row, chain_id: String(row.chain_id) });
const placeOf = ({ claimed_at: claimedAt, id }: SettlementRow): Position => ({ claimedAt, id });

function newestFirst(a: Position, b: Position): number {
  return b.claimedAt.getTime() - a.claimedAt.getTime() || Buffer.compare(b.id, a.id);
}

export function isAsked(row: SettlementRow, filter: SettlementFilter): boolean {
  const { payees, from = -Infinity, to = Infinity, state, asset, chainId } = filter;
  const at = row.claimed_at.getTime();
  return (
    payees.some((payee) => row.pay_to?.equals(Buffer.from(payee.slice(2), 'hex')) === true) &&
    at >= from &&
    at < to &&
    (state === undefined || row.state === state) &&
    (asset === undefined || row.asset?.toString('hex') === asset.slice(2)) &&
    (chainId === undefined || row.chain_id === chainId)
  );
}
