import { parseArgs } from 'node:util';
import type { Redis } from 'ioredis';
import { systemClock } from '../platform/concurrency/clock.js';
import { withTimeout } from '../platform/concurrency/timing.js';
import { type AppConfig, ConfigError, type NetworkConfig } from '../platform/config/app-config.js';
import { reconcileConfig } from '../platform/config/reconcile-config.js';
import { ledgerTag } from '../platform/redis/hash-slot.js';
import { LedgerConnections } from '../platform/redis/ledger-connections.js';
import { connectLedger, connectShared, isCluster } from '../platform/redis/redis-connection.js';
import { knownLanes } from '../settlement/ledger/queries/known-lanes.js';
import { knownRefills } from '../settlement/ledger/queries/known-refills.js';
import { ArchiveError } from './archive.js';
import { connectDatabase } from './postgres/database.js';
import { checkMigrated } from './postgres/migrator.js';
import { PostgresSettlementHistory } from './postgres/postgres-settlement-history.js';
import { type NetworkParts, reconcileNetwork } from './reconciliation/reconcile-network.js';
import { exitCodeOf, reportOf } from './reconciliation/report.js';
import { readWindow, type RequestedWindow } from './reconciliation/requested-window.js';
import type { Reconciliation } from './reconciliation/settlement-history.js';

const USAGE = `npm run reconcile -- [--from TIME] [--to TIME] [--network eip155:N]

TIME is 2026-11-21 or 2026-11-21T12:00:00Z, in UTC. Without --from and --to: the last 24 hours.
Exit code 0: no differences. 1: differences. 2: no differences, but not everything was checked. 3: not run.
`;
/** Exit code without a result. */
const NOT_RUN = 3;
const REDIS_MS = 3000;

/** `npm run reconcile`: compares the history with the chains. */
async function main(): Promise<number> {
  const given = givenArguments();
  const window = given && readWindow(given, systemClock.now());
  if (given === undefined || window === undefined) return refuse(USAGE);
  const config = reconcileConfig();
  const networks = config.networks.filter(
    ({ network }) => given.network === undefined || network === given.network,
  );
  if (networks.length === 0 || config.history === undefined) {
    return refuse(`NETWORKS names no ${given.network ?? 'network'}\n`);
  }
  const { pool, db } = connectDatabase(config.history.databaseUrl);
  try {
    await checkMigrated(pool);
    const runs: Reconciliation[] = [];
    for (const network of networks) {
      const ledgerFacts = await askLedger(config, network);
      const parts = {
        network,
        ...ledgerFacts,
        history: new PostgresSettlementHistory({ db }),
        clock: systemClock,
      };
      const run = await reconcileNetwork(parts, { startedBy: 'command', window });
      process.stdout.write(reportOf(run));
      runs.push(run);
    }
    return exitCodeOf(runs);
  } finally {
    await db.destroy();
  }
}

function givenArguments(): RequestedWindow | undefined {
  try {
    const one = { type: 'string' } as const;
    return parseArgs({ options: { from: one, to: one, network: one } }).values;
  } catch {
    return undefined;
  }
}

/** Without the ledger, the senders of the recorded transactions count as lanes. */
async function askLedger(
  config: AppConfig,
  { chainId, network }: NetworkConfig,
): Promise<Pick<NetworkParts, 'ledgerLanes' | 'refills'>> {
  const ledger = commandConnections(config, chainId);
  try {
    await withTimeout(REDIS_MS, Promise.all(ledger.servers.map((redis) => redis.connect())));
    const ledgerLanes = await knownLanes(ledger, chainId);
    return { ledgerLanes, refills: await knownRefills(ledger, chainId, ledgerLanes) };
  } catch {
    process.stderr.write(
      `${network}: Redis does not answer; every sender of a recorded transaction counts as a lane\n`,
    );
    return { ledgerLanes: undefined };
  } finally {
    for (const redis of ledger.all) redis.disconnect();
  }
}

/** A connection to the ledger of a chain, not opened yet. */
function commandConnections({ redis }: AppConfig, chainId: number): LedgerConnections {
  const open = (tag?: string): Redis => {
    const connection = connectLedger(redis.ledger, tag);
    connection.on('error', () => undefined);
    return connection;
  };
  if (!isCluster(redis.ledger)) return new LedgerConnections(open());
  const tag = ledgerTag(chainId);
  const shared = connectShared(redis.ledger);
  shared.on('error', () => undefined);
  return new LedgerConnections(shared, new Map([[tag, open(tag)]]));
}

function refuse(text: string): number {
  process.stderr.write(text);
  return NOT_RUN;
}

try {
  process.exitCode = await main();
} catch (error) {
  const isKnown = error instanceof ConfigError || error instanceof ArchiveError;
  process.exitCode = refuse(
    `Reconciliation failed: ${isKnown ? error.message : 'unexpected error'}\n`,
  );
}
