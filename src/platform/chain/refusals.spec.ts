import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { isHex } from 'viem';
import {
  aChain,
  failure,
  FakeChain,
  hash32,
  result,
  SILENT,
} from '../../../test/builders/platform/chain/fake-chain.js';
import { CannotAnswerError, ChainUnavailableError } from '../../protocol/errors.js';
import type { ChainObserver } from './chain-observer.js';
import type { RpcOutcome } from './rpc/rpc-outcome.js';

const INDEXING = failure('transaction indexing is in progress');
const RATE_LIMITED = failure('too many requests', -32_005);

describe('an endpoint that answers heads', () => {
  let truth: FakeChain;
  let now: number;
  const reported: string[] = [];
  const observer: ChainObserver = {
    endpointChanged: ({ endpoint, what, ability }) =>
      reported.push(`${endpoint} ${what} ${ability}`),
    contractFound: () => undefined,
    endpointsDisagree: () => undefined,
    endpointsAgree: () => undefined,
  };

  beforeEach(() => {
    truth = new FakeChain(20);
    truth.mine({ hash: hash32(1), to: '0x', input: '0x' });
    now = 1_000_000;
    reported.length = 0;
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
      chain.quorumRead({
        what: 'receipt',
        ability: 'receipts',
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
        await chain.verifyNearHead(
          (view) => view.blockNumber(),
          () => 'any',
          true,
        );
      }
    };
    const answersReceipts = (outcome: RpcOutcome | undefined): void => {
      second.lie = (method) => (method === 'eth_getTransactionReceipt' ? outcome : undefined);
    };
    return { chain, nodes, receipt, askFor, answersReceipts };
  }

  it('is no witness of receipts where it says so for seconds and its head moves', async () => {
    const { chain, receipt, askFor, answersReceipts } = await two();
    answersReceipts(INDEXING);
    await askFor(3);
    await expect(receipt()).rejects.toThrow(ChainUnavailableError);
    await askFor(2);
    expect(await receipt()).toBe(20n);
    expect(reported).toEqual(['56-1 cannot_answer receipts']);
    expect(chain.endpoints[1]?.refusals.proved).toEqual(['receipts']);
    // It is asked on, and a witness again with its first answer.
    answersReceipts(undefined);
    expect(await receipt()).toBe(20n);
    expect(reported.at(-1)).toBe('56-1 answers_again receipts');
    answersReceipts(INDEXING);
    await expect(receipt()).rejects.toThrow(ChainUnavailableError);
  });

  // Otherwise an attacker who keeps it busy would have the other one believed alone.
  it.each<[string, RpcOutcome]>([
    ['says nothing', SILENT],
    ['is asked too often', RATE_LIMITED],
    ['is asked too often, by HTTP', { kind: 'silent', cause: 'rate_limited' }],
    ['stands behind long answers in a batch', failure('response too large', -32_003)],
    ['stands behind slow answers in a batch', failure('request timed out', -32_002)],
    ['is behind a gateway that is busy', failure('request timeout on the free plan', 30)],
    ['answers with a page that says it is busy', { kind: 'silent', cause: 'malformed' }],
  ])('stays a witness of receipts where it %s, though its head moves', async (_, outcome) => {
    const { chain, receipt, askFor, answersReceipts } = await two();
    answersReceipts(outcome);
    await askFor(8);
    expect(chain.endpoints[1]?.refusals.proved).toEqual([]);
    await expect(receipt()).rejects.toThrow(ChainUnavailableError);
  });

  it('is asked again by the probe without other requests, and counts again when it answers', async () => {
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
    expect(reported.at(-1)).toBe('56-1 answers_again receipts');
  });

  it.each<[string, RpcOutcome]>([
    ['refuses', INDEXING],
    ['says nothing', SILENT],
    ['is asked too often', RATE_LIMITED],
  ])('stays a witness where it %s and its head stands still as well', async (_, outcome) => {
    const { receipt, askFor, answersReceipts, chain } = await two();
    answersReceipts(outcome);
    await askFor(8, false);
    expect(chain.endpoints[1]?.refusals.proved).toEqual([]);
    await expect(receipt()).rejects.toThrow(ChainUnavailableError);
  });

  it('stays a witness where it is slow and answers now and then', async () => {
    const { receipt, askFor, answersReceipts, chain } = await two();
    for (let time = 0; time < 4; time += 1) {
      answersReceipts(SILENT);
      await askFor(3);
      await expect(receipt()).rejects.toThrow(ChainUnavailableError);
      answersReceipts(undefined);
      expect(await receipt()).toBe(20n);
    }
    expect(chain.endpoints[1]?.refusals.proved).toEqual([]);
  });

  it('stays a witness where it was silent twice, long apart', async () => {
    const { receipt, askFor, answersReceipts, chain } = await two();
    answersReceipts(SILENT);
    await askFor(3);
    now += 60_000;
    await askFor(2);
    expect(chain.endpoints[1]?.refusals.proved).toEqual([]);
    await expect(receipt()).rejects.toThrow(ChainUnavailableError);
  });

  it('is not waited for once that is proved, whether it refuses or is silent', async () => {
    const { chain, receipt, askFor, nodes } = await two();
    const [, second] = nodes;
    if (second === undefined) throw new Error('two nodes');
    second.lie = (method) => (method === 'eth_getTransactionReceipt' ? INDEXING : undefined);
    await askFor(5);
    expect(chain.endpoints[1]?.refusals.proved).toEqual(['receipts']);
    jest.spyOn(second, 'request').mockReturnValue(new Promise(() => undefined));
    expect(await receipt()).toBe(20n);
  });

  it('is no witness of a block that it has shown and does not find', async () => {
    const { chain } = await aChain(truth, 2, { observer });
    const [, second] = chain.views();
    if (second === undefined) throw new Error('two views');
    const { request } = second.health.endpoint;
    jest
      .spyOn(second.health.endpoint, 'request')
      .mockImplementation((...asked) =>
        asked[0] === 'eth_getBlockByNumber' && isHex(asked[1][0])
          ? Promise.resolve(result(null))
          : request.apply(second.health.endpoint, asked),
      );
    for (let half = 0; half < 10; half += 1) {
      await second.block(5n).catch(() => undefined);
      now += 500;
      truth.mine();
      await second.latestBlock();
    }
    await expect(second.block(5n)).rejects.toThrow(CannotAnswerError);
    expect(chain.endpoints[1]?.refusals.proved).toEqual(['blocks']);
  });

  it('stays a witness where it has no old blocks any more, nor their states', async () => {
    const { chain, receipt } = await two();
    const [, second] = chain.views();
    if (second === undefined) throw new Error('two views');
    const old = truth.blockHash(5);
    for (let block = 0; block < 120; block += 1) truth.mine();
    await second.latestBlock();
    await second.block(5n);
    const { request } = second.health.endpoint;
    jest.spyOn(second.health.endpoint, 'request').mockImplementation((...asked) => {
      const [method, [at]] = asked;
      if (method === 'eth_getBlockByNumber' && isHex(at)) return Promise.resolve(INDEXING);
      if (method === 'eth_getTransactionCount') return Promise.resolve(INDEXING);
      return request.apply(second.health.endpoint, asked);
    });
    for (let half = 0; half < 16; half += 1) {
      await second.block(5n).catch(() => undefined);
      await second.transactionCount('0x', { blockHash: old }).catch(() => undefined);
      now += 500;
      truth.mine();
      await second.latestBlock();
    }
    expect(chain.endpoints[1]?.refusals.proved).toEqual([]);
    expect(await receipt()).toBe(20n);
  });

  it('stays a witness of one thing where it has proved that it cannot answer another', async () => {
    const { chain, receipt } = await two();
    const [, second] = chain.views();
    if (second === undefined) throw new Error('two views');
    for (let half = 0; half < 10; half += 1) {
      second.health.refusals.refused('blocks', BigInt(half));
      now += 500;
    }
    expect(second.health.refusals.proved).toEqual(['blocks']);
    const { request } = second.health.endpoint;
    jest
      .spyOn(second.health.endpoint, 'request')
      .mockImplementation((...asked) =>
        asked[0] === 'eth_getTransactionReceipt'
          ? Promise.reject(new CannotAnswerError(56, 'a block'))
          : request.apply(second.health.endpoint, asked),
      );
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
