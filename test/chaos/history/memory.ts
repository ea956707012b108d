import type { Payment } from '../deals.js';
import type { Row } from './rows.js';

/** A payment that was bought, and by whom. */
export interface Bought {
  readonly payment: Payment;
  readonly key: string;
  /** The caller's own address. */
  readonly from: string;
  readonly transaction: string;
  readonly run: string;
  /** When it was known to be bought. */
  readonly at: number;
}

interface Known {
  readonly row: Row;
  readonly run: string;
  /** Whether its end is known: a ledger that lost writes may have left it behind. */
  readonly isOver: boolean;
}

/** What the runs so far have left behind, and must be as it was for ever. */
export class Memory {
  readonly known = new Map<string, Known>();
  readonly bought: Bought[] = [];
  /** Settlements with pending deliveries, and the run they are of. */
  readonly unheard = new Map<string, string>();
  /** Before this a ledger was lost: settlements unknown to the archive are missing there. */
  isWholeSince = 0;

  /** Settlements that a loss may have left without an end. */
  get leftBehind(): ReadonlySet<string> {
    return new Set([...this.known].flatMap(([id, { isOver }]) => (isOver ? [] : [id])));
  }
}
