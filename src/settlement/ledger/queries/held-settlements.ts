import type { LedgerConnections } from '../../../platform/redis/ledger-connections.js';
import { runTransaction } from '../../../platform/redis/redis-scripts.js';
import { recordKey } from '../keys.js';

/**
 * Which of these settlements are in the ledger of a chain, live or finished.
 *
 * @throws RedisUnavailableError
 */
export async function heldSettlements(
  ledger: LedgerConnections,
  chainId: number,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const questions = ids.map((id) => ['exists', recordKey(chainId, id)]);
  const answers = await runTransaction('held_settlements', ledger.of(chainId).multi(questions));
  return new Set(ids.filter((_, index) => Number(answers[index]) === 1));
}
