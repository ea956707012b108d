import { describe, expect, it } from '@jest/globals';
import { readBlockHeader } from '../../../platform/chain/block.js';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import {
  aChain,
  failure,
  FakeChain,
  type FakeNode,
  result,
} from '../../../platform/chain/fake-chain.builder.js';
import type { Head } from '../../../platform/chain/head-watcher.js';
import { feesFor } from '../../model/gas-price.js';
import { FeeOracle } from './fee-oracle.js';

const GWEI = 1_000_000_000n;

function headOf(chain: EvmChain, truth: FakeChain): Head {
  const latest = readBlockHeader(truth.header(truth.head));
  const [view] = chain.views();
  if (latest === undefined || view === undefined) throw new Error('a chain');
  return { latest, finalized: undefined, view };
}

describe('FeeOracle', () => {
  async function market(nodes: number, prepare: (nodes: readonly FakeNode[]) => void) {
    const truth = new FakeChain(5);
    const made = await aChain(truth, nodes);
    prepare(made.nodes);
    const oracle = new FeeOracle(made.chain);
    return { ...made, market: () => oracle.market(headOf(made.chain, truth)) };
  }

  const suggests =
    (wei: bigint): FakeNode['lie'] =>
    (method) =>
      method === 'eth_maxPriorityFeePerGas' ? result(`0x${wei.toString(16)}`) : undefined;

  it('offers the lower one of two suggestions, and the higher one for what is not mined by it', async () => {
    const { market: ask } = await market(2, ([first]) => {
      if (first !== undefined) first.lie = suggests(900n * GWEI);
    });
    expect(await ask()).toMatchObject({ suggestedTip: 50_000_000n, urgentTip: 900n * GWEI });
  });

  it('goes on when one of two nodes names a least tip above the cap', async () => {
    const { chain, market: ask } = await market(2, ([first]) => {
      if (first === undefined) return;
      first.lie = (method) =>
        method === 'eth_sendRawTransaction'
          ? failure('transaction underpriced: gas tip cap 1, minimum needed 900 gwei')
          : undefined;
    });
    await chain.broadcast('0x00');
    expect(chain.endpoints[0]?.leastTip?.wei).toBe(900n * GWEI);
    expect(feesFor(await ask())).toBeDefined();
  });

  it('forgets a least tip after ten seconds', async () => {
    const { chain, market: ask } = await market(1, () => undefined);
    const [health] = chain.endpoints;
    if (health === undefined) throw new Error('an endpoint');
    health.leastTip = { wei: 900n * GWEI, learnedAt: performance.now() };
    expect(feesFor(await ask())).toBeUndefined();
    health.leastTip = { wei: 900n * GWEI, learnedAt: performance.now() - 10_001 };
    expect(feesFor(await ask())).toBeDefined();
  });
});
