import type { LedgerConnections } from '../../../platform/redis/ledger-connections.js';
import { runTransaction } from '../../../platform/redis/redis-scripts.js';
import { recordKey } from '../keys.js';

/**
 * Which of these settlements the ledger of a chain holds, live or ended.
 *
 * @throws RedisUnavailableError
 */
export async function heldSettlements(
  ledger: LedgerConnections,
  chainId: number,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const asked = ledger.partitions.byLedger(chainId, ids).map(async ([at, own]) => {
    const questions = own.map((id) => ['exists', recordKey(at, id)]);
    const answers = await runTransaction('held_settlements', ledger.of(at).multi(questions));
    return own.filter((_, index) => Number(answers[index]) === 1);
  });
  return new Set((await Promise.all(asked)).flat());
}
