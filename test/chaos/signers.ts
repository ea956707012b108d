import { type SandboxAccount, sandboxAccount, SIGNER } from '../../sandbox/accounts.js';
import type { Partitions } from '../../src/platform/redis/partitions.js';
import { laneKeyIn } from '../support/lane-keys.js';

/** So many lanes are enough for one deployment. */
const LANES_MOST = 16;

/**
 * Two for each partition of the ledger, or one where there are many: half of the list, from its start or its end, has one
 * for each where there are two. Those that are not of the sandbox have no money.
 */
export function signersOf(partitions: Partitions, chainId: number): readonly SandboxAccount[] {
  const all = partitions.all(chainId);
  if (all.length === 1) return [SIGNER, sandboxAccount(3)];
  const rounds = 2 * all.length > LANES_MOST ? 1 : 2;
  return Array.from({ length: rounds }, (_, round) =>
    all.map((one) => laneKeyIn(partitions, one, `lane ${round}`)),
  ).flat();
}
