import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  aChain,
  failure,
  FakeChain,
  hash32,
  SILENT,
} from '../../../test/builders/platform/chain/fake-chain.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { ChainObserver } from './chain-observer.js';
import type { RpcOutcome } from './rpc/rpc-outcome.js';

const INDEXING = failure('transaction indexing is in progress');
const RATE_LIMITED = failure('too many requests', -32_005);

describe('an endpoint without receipts', () => {
  let truth: FakeChain;
  let now: number;
  const told: string[] = [];
  const observer: ChainObserver = {
    endpointChanged: ({ endpoint, what, ability }) => told.push(`${endpoint} ${what} ${ability}`),
    contractFound: () => undefined,
    endpointsDisagree: () => undefined,
  };

  beforeEach(() => {
    truth = new FakeChain(20);
    truth.mine({ hash: hash32(1), to: '0x', input: '0x' });
    now = 1_000_000;
    told.length = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  async function two() {
    const { chain, nodes } = await aChain(truth, 2, { observer });
    const [, second] = nodes;
    if (second === undefined) throw new Error('two nodes');
    const receipt = (): Promise<bigint> =>
      chain.agree({
        what: 'receipt',
        read: async (view) => {
          const value = (await view.receipt(hash32(1)))?.blockNumber ?? -1n;
          return { value, key: String(value) };
        },
      });
    /** Asks for some seconds, while blocks come or do not. */
    const askFor = async (seconds: number, isMoving = true): Promise<void> => {
      for (let half = 0; half < seconds * 2; half += 1) {
        await receipt().catch(() => undefined);
        now += 500;
        if (isMoving) truth.mine();
        await chain.judge(
          (view) => view.blockNumber(),
          () => 'any',
          true,
        );
      }
    };
    const answersReceipts = (outcome: RpcOutcome | undefined): void => {
      second.lie = (method) => (method === 'eth_getTransactionReceipt' ? outcome : undefined);
    };
    return { chain, receipt, askFor, answersReceipts };
  }

  it('is no witness of receipts, once it has said so for some seconds while its head moved', async () => {
    const { chain, receipt, askFor, answersReceipts } = await two();
    answersReceipts(INDEXING);
    await askFor(3);
    await expect(receipt()).rejects.toThrow(ChainUnavailableError);
    await askFor(2);
    expect(await receipt()).toBe(20n);
    expect(told).toEqual(['56-1 cannot_answer receipts']);
    expect(chain.endpoints[1]?.refusals.proved).toEqual(['receipts']);
    // It is asked on, and a witness again with its first answer.
    answersReceipts(undefined);
    expect(await receipt()).toBe(20n);
    expect(told.at(-1)).toBe('56-1 answers_again receipts');
    answersReceipts(INDEXING);
    await expect(receipt()).rejects.toThrow(ChainUnavailableError);
  });

  it('is asked again by the probe where nobody else asks, and is a witness again when it answers', async () => {
    const { chain, askFor, answersReceipts } = await two();
    const refusals = chain.endpoints[1]?.refusals;
    answersReceipts(INDEXING);
    await askFor(5);
    // While it is asked for payments the probe proves nothing.
    answersReceipts(undefined);
    await chain.probe();
    expect(refusals?.proved).toEqual(['receipts']);
    answersReceipts(INDEXING);
    now += 6000;
    await chain.probe();
    expect(refusals?.proved).toEqual(['receipts']);
    answersReceipts(undefined);
    now += 6000;
    await chain.probe();
    expect(refusals?.proved).toEqual([]);
    expect(told.at(-1)).toBe('56-1 answers_again receipts');
  });

  it.each<[string, RpcOutcome, boolean]>([
    ['is slow', SILENT, true],
    ['is asked too often', RATE_LIMITED, true],
    ['stands still as well', INDEXING, false],
  ])('stays a witness where it %s', async (_, outcome, isMoving) => {
    const { receipt, askFor, answersReceipts, chain } = await two();
    answersReceipts(outcome);
    await askFor(8, isMoving);
    expect(chain.endpoints[1]?.refusals.proved).toEqual([]);
    await expect(receipt()).rejects.toThrow(ChainUnavailableError);
  });

  it('stays a witness of a block that it need not have', async () => {
    const { chain } = await two();
    const [, second] = chain.views();
    if (second === undefined) throw new Error('two views');
    for (let half = 0; half < 16; half += 1) {
      await second.transactionCount('0x', { blockHash: hash32(7) }).catch(() => undefined);
      now += 500;
      truth.mine();
      await second.latestBlock();
    }
    expect(chain.endpoints[1]?.refusals.proved).toEqual([]);
  });
});
