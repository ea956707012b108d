import { delay } from '../client.js';
import type { RpcFault } from '../rpc-proxy.js';
import type { Fault } from './fault.js';
import { misbehave } from './of-nodes.js';

/** The approval is not in the new block, and what was sent after it is: that reverts, and is tried again when asked for. */
const OF_LOST_APPROVALS = ['invalid_exact_evm_transaction_failed'];

/** The newest block is replaced by one without its transactions; finality is two blocks deep. */
export const reorg: Fault = {
  kind: 'a block is replaced',
  name: 'a block is replaced',
  expectations: { hasReorgs: true },
  meaninglessAfterApproval: OF_LOST_APPROVALS,
  run: async ({ blocks }, random) => {
    await delay(random.between(0, 1200));
    await blocks.replaceNext(random.between(0, 250));
  },
};

/** What one of two nodes does while a block is replaced and finality passes it. */
export const REORG_WITNESSES: readonly RpcFault[] = [
  { kind: 'remembers' },
  { kind: 'late_receipts', ms: 950 },
  { kind: 'lies', about: 'blocks_refused' },
];

/**
 * A block is replaced, and one of two nodes is mute about it, late, or still shows the old one, until
 * finality has passed it: nothing is final that only one of them has seen.
 */
export const reorgUnwitnessed = (fault: RpcFault, endpoint: number): Fault => ({
  kind: 'a block is replaced and one node does not show it',
  name: `a block is replaced, and node ${endpoint} ${fault.kind}`,
  isOfNodes: true,
  expectations: { hasReorgs: true },
  meaninglessAfterApproval: OF_LOST_APPROVALS,
  run: async (stage, random) => {
    misbehave(stage, fault, endpoint);
    await Promise.race([stage.pool.any(), delay(2000)]);
    await stage.blocks.replaceNext(random.between(150, 600));
    // Finality is two blocks deep.
    await delay(random.between(2000, 3500));
  },
});

/** Those who saw the block die before it is replaced, and those who follow them never saw it. */
export const reorgAfterDeath: Fault = {
  kind: 'a block is replaced and its witnesses are dead',
  name: 'a block is replaced and its witnesses are dead',
  expectations: { hasReorgs: true },
  meaninglessAfterApproval: OF_LOST_APPROVALS,
  run: async ({ blocks, fleet, pool }, random) => {
    await Promise.race([pool.any(), delay(2000)]);
    const lives = random.between(150, 600);
    const replaced = blocks.replaceNext(lives);
    await delay(lives + random.between(0, 150));
    for (const slot of fleet.of('worker')) slot.kill(100);
    await replaced;
  },
};
