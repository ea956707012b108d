import { delay } from '../client.js';
import type { Fault } from './fault.js';

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
