import { hash } from 'node:crypto';
import type { Hex } from 'viem';

/**
 * The outcomes that a seller may simulate instead of a settle.
 *
 * - `pending`: it was sent and its outcome is unknown; {@link PENDING_MS} later it is included.
 * - `reverted`: it was mined and paid nothing.
 * - `expired`: its deadline passed unused.
 * - `duplicate`: another request got success.
 * - `timeout`: no answer for {@link SILENT_MS}, then the connection is closed. The payment is included.
 * - `reorg`: success; {@link REORG_MS} later a reorganization drops the payment for good.
 * - `slow`: success after {@link SLOW_MS}.
 */
export const SIMULATED_OUTCOMES = [
  'pending',
  'reverted',
  'expired',
  'duplicate',
  'timeout',
  'reorg',
  'slow',
] as const;
export type SimulatedOutcome = (typeof SIMULATED_OUTCOMES)[number];

export const PENDING_MS = 5000;
export const SLOW_MS = 8000;
/** Longer than the default of `SETTLE_WAIT_MS`. */
export const SILENT_MS = 30_000;
export const REORG_MS = 5000;
/** Time from the reorganization to the deadline of the payment. */
export const REORG_OVER_MS = 30_000;
/** Time from inclusion to finality. */
export const FINAL_MS = 1500;

export function isSimulatedOutcome(text: string): text is SimulatedOutcome {
  return (SIMULATED_OUTCOMES as readonly string[]).includes(text);
}

/** Chains whose coins have no value. Every other chain counts as a main network. */
const TEST_CHAIN_IDS: ReadonlySet<number> = new Set([
  97, 5611, 31_337, 1337, 11_155_111, 17_000, 560_048, 84_532, 421_614, 11_155_420, 80_002, 43_113,
  11_124, 1328, 2201, 10_143, 324_705_682,
]);

/** The one rule for where a settle may be simulated. */
export function mayBeSimulatedOn(chainId: number): boolean {
  return TEST_CHAIN_IDS.has(chainId);
}

/**
 * Ids and hashes of simulated settlements. Both are made of one token of 23 bytes, so that each leads to the other.
 * Both begin with a prefix that no real one has; the hash holds "simulated" in ASCII.
 */
const ID_PREFIX = 'x-simulated-';
const HASH_PREFIX = `0x${Buffer.from('simulated').toString('hex')}`;
const TOKEN_BYTES = 23;

const ID = new RegExp(`^${ID_PREFIX}[\\w-]{31}$`);
const HASH = new RegExp(`^${HASH_PREFIX}[0-9a-f]{${TOKEN_BYTES * 2}}$`);

/**
 * @param caller - id of the API key: simulations of one seller are not visible to another.
 * @param authorizationId - see `PaymentIdentity`.
 */
export function simulatedIdOf(
  caller: string,
  authorizationId: string,
  outcome: SimulatedOutcome,
): string {
  const digest = hash('sha256', JSON.stringify([caller, authorizationId, outcome]), 'hex');
  return ID_PREFIX + Buffer.from(digest, 'hex').subarray(0, TOKEN_BYTES).toString('base64url');
}

export function isSimulatedId(id: string): boolean {
  return ID.test(id);
}

export function simulatedHashOf(id: string): Hex {
  const token = Buffer.from(id.slice(ID_PREFIX.length), 'base64url');
  return `${HASH_PREFIX as Hex}${token.toString('hex')}`;
}

/** @returns `undefined` for the hash of a real transaction. */
export function simulatedIdOfHash(transaction: string): string | undefined {
  const lower = transaction.toLowerCase();
  if (!HASH.test(lower)) return undefined;
  const token = Buffer.from(lower.slice(HASH_PREFIX.length), 'hex');
  return ID_PREFIX + token.toString('base64url');
}
