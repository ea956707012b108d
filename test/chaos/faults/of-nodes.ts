import { delay, within } from '../client.js';
import type { Lie } from '../rpc-lies.js';
import type { RpcFault } from '../rpc-proxy.js';
import type { Stage } from '../stage.js';
import { type Fault, MOMENT_TIMEOUT_MS } from './fault.js';

/** How far behind the slowest node is. */
export const LAG_MOST_BLOCKS = 5;

export const RPC_FAULTS: readonly RpcFault[] = [
  { kind: 'silent_after_send' },
  { kind: 'drops' },
  { kind: 'lags', blocks: 1 },
  { kind: 'lags', blocks: 2 },
  { kind: 'lags', blocks: LAG_MOST_BLOCKS },
  { kind: 'wrong_chain' },
  { kind: 'rate_limited' },
  { kind: 'errors' },
  { kind: 'forgets' },
  { kind: 'hangs' },
  { kind: 'late_receipts', ms: 950 },
];

export const rpcFault = (fault: RpcFault, isEverywhere: boolean): Fault => ({
  kind: fault.kind === 'lags' ? `a node lags ${fault.blocks}` : `a node ${fault.kind}`,
  name: `${isEverywhere ? 'every endpoint' : 'an endpoint'} ${fault.kind}`,
  isOfNodes: true,
  run: async (stage, random) => {
    await delay(random.between(0, 500));
    misbehave(stage, fault, isEverywhere ? undefined : random.between(0, 1));
    await delay(random.between(1500, 3500));
  },
});

/** The refusals caused by the payer's account, as the nodes show it. */
const OF_ACCOUNTS = [
  'erc20_approval_tx_nonce_mismatch',
  'erc20_approval_tx_underpriced',
  'erc20_approval_tx_too_expensive',
];

/**
 * One of two nodes is wrong about one thing. What both do not serve, or both tell in their own way, is
 * no lie.
 */
export const nodeLies = (about: Lie, endpoint: number | undefined): Fault => ({
  kind: `a node lies: ${about}`,
  name: `${endpoint === undefined ? 'both nodes lie' : `node ${endpoint} lies`} about ${about}`,
  isOfNodes: true,
  meaninglessAlone: OF_ACCOUNTS,
  run: async (stage, random) => {
    // From the beginning, or once something is on its way.
    if (random.chance(0.5)) await within(MOMENT_TIMEOUT_MS, stage.pool.any());
    misbehave(stage, { kind: 'lies', about }, endpoint);
    await delay(random.between(1000, 3500));
  },
});

export const MAY_BE_EVERYWHERE: readonly Lie[] = ['logs_refused', 'halts', 'receipt_missing'];

const FOR_GOOD: readonly Lie[] = [
  ...(['receipt_success', 'receipt_number', 'receipt_gas'] as const),
  ...(['finalized_number', 'finalized_hash', 'final_time', 'final_number'] as const),
];
const TAKE_A_NODE_AWAY: readonly RpcFault['kind'][] = [
  ...(['silent_after_send', 'drops', 'wrong_chain', 'rate_limited', 'errors', 'hangs'] as const),
];

/** Whether one lies about what is believed for good while the other takes the witness away: then the liar is believed. */
export function isLieUnwitnessed(lie: Fault, other: Fault): boolean {
  return (
    FOR_GOOD.some((about) => lie.kind === `a node lies: ${about}`) &&
    TAKE_A_NODE_AWAY.some((kind) => other.kind === `a node ${kind}`)
  );
}

/** A node counts too many transactions just while lanes are opened. */
export const nonceAtOpening: Fault = {
  kind: 'a node lies while lanes open',
  name: 'a node counts too many transactions while lanes open',
  meaninglessAlone: OF_ACCOUNTS,
  run: async (stage, random) => {
    misbehave(stage, { kind: 'lies', about: 'nonce' }, random.between(0, 1));
    await Promise.all(stage.fleet.of('worker').map((slot) => slot.restart()));
    await delay(random.between(1000, 2500));
  },
};

/** A door of every process to the chain, or all doors. */
export function misbehave({ fleet }: Stage, fault: RpcFault, endpoint: number | undefined): void {
  for (const { rpcs } of fleet.slots) {
    rpcs.forEach((rpc, index) => {
      if (endpoint === undefined || index === endpoint) rpc.fault = fault;
    });
  }
}
