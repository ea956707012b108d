import { connectDatabase } from '../../../src/history/postgres/database.js';
import { PostgresSettlementHistory } from '../../../src/history/postgres/postgres-settlement-history.js';
import { isNote } from '../../../src/history/reconciliation/difference.js';
import { reconcileNetwork } from '../../../src/history/reconciliation/reconcile-network.js';
import { systemClock } from '../../../src/platform/concurrency/clock.js';
import { reconcileConfig } from '../../../src/platform/config/reconcile-config.js';
import { approvalSettings, type Stage } from '../stage.js';
import type { History } from './history.js';

/** What a lost ledger leaves in the books. */
const OF_A_LOSS: ReadonlySet<string> = new Set(['state_differs', 'log_without_settlement']);

interface Reconciled {
  readonly fromMs: number;
  readonly isLedgerWhole: boolean;
  readonly leftBehind: ReadonlySet<string>;
}

/**
 * One more check: the service's own reconciliation of a time.
 *
 * @param isLedgerWhole - no ledger was lost in this time; otherwise only the lost settlements are
 *   found.
 * @param leftBehind - settlements that an earlier loss left unfinished. Their transactions may land
 *   in any later block, and their rows show that once the chain was asked.
 */
export async function reconciled(
  { world, signers }: Stage,
  { database }: History,
  { fromMs, isLedgerWhole, leftBehind }: Reconciled,
): Promise<readonly string[]> {
  const settings = world.settings({ DATABASE_URL: database.url });
  const config = reconcileConfig({ ...settings, ...approvalSettings(world.chainId) });
  const [network] = config.networks;
  if (network === undefined || config.history === undefined) throw new Error('nothing to check');
  const { db } = connectDatabase(config.history.databaseUrl);
  try {
    const { findings } = await reconcileNetwork(
      {
        network,
        ledgerLanes: signers.map((address) => address.toLowerCase() as typeof address),
        history: new PostgresSettlementHistory({ db }),
        clock: systemClock,
      },
      { startedBy: 'command', window: { fromMs, toMs: Date.now() } },
    );
    return findings
      .filter((one) => !isNote(one))
      .filter(({ name, settlementId = '' }) => {
        const isOfALoss = !isLedgerWhole || leftBehind.has(settlementId);
        return !isOfALoss || !OF_A_LOSS.has(name);
      })
      .map(
        ({ name, settlementId, transaction, expected, found }) =>
          `reconciliation: ${name} ${settlementId ?? ''} ${transaction ?? ''} ${expected ?? ''} ${found ?? ''}`,
      );
  } finally {
    await db.destroy();
  }
}
