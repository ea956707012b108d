import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import { statusOf } from '../../settlement/ledger/queries/settlement-status.js';

/** A line of JSON for each settlement, in the form of the look-up. */
export async function* ndjsonOf(
  pages: AsyncIterable<readonly Settlement[]>,
): AsyncGenerator<Buffer, void> {
  for await (const page of pages) {
    yield Buffer.from(page.map((one) => `${JSON.stringify(statusOf(one))}\n`).join(''));
  }
}
