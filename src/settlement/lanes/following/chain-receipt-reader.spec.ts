import { describe, expect, it, jest } from '@jest/globals';
import type { Address, Hex } from 'viem';
import {
  aChain,
  failure,
  FakeChain,
  type FakeNode,
  hash32,
  paymentLogs,
  result,
  SILENT,
} from '../../../../test/builders/platform/chain/fake-chain.js';
import { anAcceptedPayment } from '../../../../test/builders/protocol/payment/accepted-payment.js';
import { refOf } from '../../../platform/chain/authorization-use.js';
import { readBlockHeader } from '../../../platform/chain/block.js';
import { readReceipt } from '../../../platform/chain/receipt.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import { addressWord, uintWord } from '../../../protocol/evm/abi-words.js';
import { CHANNEL_ESCROW } from '../../../protocol/evm/contracts.js';
import type { AcceptedPayment } from '../../../protocol/payment/accepted-payment.js';
import { BATCH_SETTLEMENT } from '../../../protocol/schemes/batch-settlement/claims.js';
import { SETTLED_TOPIC } from '../../../protocol/schemes/batch-settlement/escrow.js';
import type { Payout } from '../../../protocol/schemes/batch-settlement/payout.js';
import type { TrackedAttempt } from '../state/tracked-attempt.js';
import { ChainReceiptReader } from './chain-receipt-reader.js';

const SIGNER = '0x5555555555555555555555555555555555555555';
const payment = anAcceptedPayment();
const HASH = hash32(1);

/** What the reader needs of an attempt. */
const tracked = {
  accountNonce: 4,
  attempt: { accountNonce: 4, transactions: [{ hash: HASH }] },
  items: [{ id: 'a', payment }],
} as unknown as TrackedAttempt;

describe('ChainReceiptReader', () => {
  async function world(isSuccess = true) {
    const truth = new FakeChain(20);
    truth.nonces = (block) => (block >= 20 ? 5 : 4);
    const logs = isSuccess ? paymentLogs(refOf(payment)) : [];
    truth.mine({ hash: HASH, to: payment.asset, input: '0x', isSuccess, logs });
    const { chain, nodes } = await aChain(truth, 2);
    const [view] = chain.views();
    const latest = readBlockHeader(truth.header(truth.head));
    const [liar, witness] = nodes;
    if (view === undefined || latest === undefined || liar === undefined || witness === undefined) {
      throw new Error('two nodes');
    }
    const reader = new ChainReceiptReader(chain, SIGNER);
    const look = () => reader.look({ view, latest }, [tracked]);
    const confirmed = async (): Promise<boolean | undefined> => {
      const inclusion = (await look()).included.get(tracked);
      if (inclusion === undefined) return undefined;
      return (await reader.confirm(view, tracked, inclusion)) !== undefined;
    };
    return { truth, chain, liar, witness, view, latest, reader, look, confirmed };
  }

  it('takes a transaction for included when two nodes have the same evidence', async () => {
    const { confirmed, witness } = await world();
    expect(await confirmed()).toBe(true);
    witness.lag = 1;
    expect(await confirmed()).toBe(false);
  });

  it('does not when one node says that a reverted one succeeded', async () => {
    const { truth, liar, confirmed } = await world(false);
    liar.lie = (method) =>
      method === 'eth_getTransactionReceipt'
        ? result({
            ...(truth.receipt(HASH) as object),
            status: '0x1',
            logs: paymentLogs(refOf(payment)).map((log, index) => ({
              ...log,
              logIndex: `0x${index}`,
            })),
          })
        : undefined;
    expect(await confirmed()).toBe(false);
    liar.lie = () => undefined;
    expect(await confirmed()).toBe(true);
  });

  it('does not when one node leaves the logs out, or gives the receipt of another transaction', async () => {
    const { truth, liar, look, confirmed } = await world();
    liar.lie = (method) =>
      method === 'eth_getTransactionReceipt'
        ? result({ ...(truth.receipt(HASH) as object), logs: [] })
        : undefined;
    expect(await confirmed()).toBe(false);
    expect(readReceipt({ ...(truth.receipt(HASH) as object), logs: null })).toBeUndefined();
    liar.lie = (method) =>
      method === 'eth_getTransactionReceipt'
        ? result({ ...(truth.receipt(HASH) as object), transactionHash: hash32(2) })
        : undefined;
    await expect(look()).rejects.toThrow();
  });

  it.each([
    ['with its event', 1],
    ['without an event and without a total that shows it', 0],
  ])('takes a payout for done %s', async (_, events) => {
    const receiver: Address = SIGNER;
    const { asset: token } = payment;
    const authorization: Payout = {
      scheme: BATCH_SETTLEMENT,
      method: 'channel-settle',
      from: receiver,
      signature: '0x',
      token,
      upTo: 150n,
    };
    const word = (address: Address): Hex => `0x${addressWord(address)}`;
    const topics = [SETTLED_TOPIC, word(receiver), word(token), word(SIGNER)];
    const event = { address: CHANNEL_ESCROW, topics, data: hash32(100) };
    const truth = new FakeChain(20);
    // The total is below what was judged.
    truth.call = () => `0x${'00'.repeat(32)}${uintWord(100n)}`;
    truth.mine({
      hash: HASH,
      to: CHANNEL_ESCROW,
      input: '0x',
      isSuccess: true,
      logs: Array.from({ length: events }, () => event),
    });
    const { chain } = await aChain(truth, 2);
    const [view] = chain.views();
    const latest = readBlockHeader(truth.header(truth.head));
    if (view === undefined || latest === undefined) throw new Error('no head');
    const items = [{ id: 'a', payment: { ...payment, authorization } }];
    const { accountNonce, attempt } = tracked;
    const payout = {
      accountNonce,
      attempt,
      items,
      isSettledBy: () => true,
    } as unknown as TrackedAttempt;
    const seen = (
      await new ChainReceiptReader(chain, SIGNER).look({ view, latest }, [payout])
    ).included.get(payout);
    expect(seen?.credited.has('a')).toBe(events > 0);
    await chain.close();
  });

  it('finds the other attempts where the state that shows one cannot be read', async () => {
    const [noted, paid] = [hash32(1), hash32(2)];
    const truth = new FakeChain(20);
    truth.nonces = (block) => (block >= 21 ? 6 : 4);
    truth.mine({ hash: noted, to: CHANNEL_ESCROW, input: '0x', isSuccess: true, logs: [] });
    const logs = paymentLogs(refOf(payment));
    truth.mine({ hash: paid, to: payment.asset, input: '0x', isSuccess: true, logs });
    const { chain, nodes } = await aChain(truth, 2);
    const [view] = chain.views();
    const latest = readBlockHeader(truth.header(truth.head));
    if (view === undefined || latest === undefined) throw new Error('no head');
    const authorization: Payout = {
      scheme: BATCH_SETTLEMENT,
      method: 'channel-settle',
      from: SIGNER,
      signature: '0x',
      token: payment.asset,
      upTo: 150n,
    };
    const attemptOf = (accountNonce: number, hash: Hex, of: AcceptedPayment) =>
      ({
        accountNonce,
        attempt: { accountNonce, transactions: [{ hash }] },
        items: [{ id: hash, payment: of }],
        isSettledBy: () => true,
      }) as unknown as TrackedAttempt;
    const payout = attemptOf(4, noted, { ...payment, authorization });
    const other = attemptOf(5, paid, payment);
    const look = () =>
      new ChainReceiptReader(chain, SIGNER).look({ view, latest }, [payout, other]);
    for (const node of nodes) node.lie = (method) => (method === 'eth_call' ? SILENT : undefined);
    const { usedNonces, included } = await look();
    expect([...included.keys()]).toEqual([other]);
    // Its nonce does not count as used by another transaction: its own was found.
    expect(usedNonces).toBe(4);
    for (const node of nodes) node.lie = () => undefined;
    expect(new Set((await look()).included.keys())).toEqual(new Set([payout, other]));
    await chain.close();
  });

  it('does not believe one node alone that more nonces are used than blocks hold', async () => {
    const { liar, look } = await world();
    liar.lie = (method) => (method === 'eth_getTransactionCount' ? result('0x64') : undefined);
    expect(await look()).toMatchObject({ usedNonces: 5 });
    liar.lie = () => undefined;
    expect(await look()).toMatchObject({ usedNonces: 5 });
  });

  it('takes a block for replaced when two nodes say so', async () => {
    const { truth, liar, witness, view, latest, reader } = await world();
    const block = { number: 20n, hash: truth.blockHash(20) };
    const replaced = async (): Promise<readonly [gone: number, doubtful: number]> => {
      const { gone, doubtful } = await reader.replacedBlocks({ view, latest }, [block]);
      return [gone.size, doubtful.size];
    };
    const another = { ...(truth.header(20) as object), hash: hash32(99) };
    const lie: typeof liar.lie = (method) =>
      method === 'eth_getBlockByNumber' ? result(another) : undefined;
    expect(await replaced()).toEqual([0, 0]);
    liar.lie = lie;
    expect(await replaced()).toEqual([0, 1]);
    // A witness that lacks the block has no word.
    witness.lie = (method) => (method === 'eth_getBlockByNumber' ? result(null) : undefined);
    expect(await replaced()).toEqual([0, 1]);
    witness.lie = lie;
    expect(await replaced()).toEqual([1, 0]);
  });

  it('takes a block for there that two others have, whatever the endpoint of the head shows', async () => {
    const truth = new FakeChain(20);
    const { chain, nodes } = await aChain(truth, 3);
    const [view] = chain.views();
    const latest = readBlockHeader(truth.header(truth.head));
    const [liar] = nodes;
    if (view === undefined || latest === undefined || liar === undefined) throw new Error('nodes');
    liar.lie = (method) => (method === 'eth_getBlockByNumber' ? result(null) : undefined);
    const block = { number: 18n, hash: truth.blockHash(18) };
    const reader = new ChainReceiptReader(chain, SIGNER);
    const { gone, doubtful } = await reader.replacedBlocks({ view, latest }, [block]);
    expect([gone.size, doubtful.size]).toEqual([0, 0]);
  });

  describe('of an attempt with several transactions', () => {
    const NEWER = hash32(7);
    const bumped = {
      accountNonce: 4,
      items: [{ id: 'a', payment }],
      attempt: { accountNonce: 4, transactions: [{ hash: HASH }, { hash: NEWER }] },
    } as unknown as TrackedAttempt;

    it('finds an older one that was mined, once its nonce is used', async () => {
      const { reader, view, latest } = await world();
      const { included } = await reader.look({ view, latest }, [bumped]);
      expect(included.get(bumped)?.transaction).toBe(HASH);
    });

    it('asks for the newest alone while its nonce is not used', async () => {
      const { truth, reader, view, latest, liar } = await world();
      truth.nonces = () => 4;
      liar.asked.length = 0;
      await reader.look({ view, latest }, [bumped]);
      const receipts = liar.asked.filter((method) => method === 'eth_getTransactionReceipt');
      expect(receipts).toHaveLength(1);
    });

    it.each<[string, (nodes: { readonly liar: FakeNode; readonly witness: FakeNode }) => void]>([
      ['by one of two nodes', ({ liar }) => (liar.lag = 1)],
      [
        'by the only node that answers',
        ({ liar }) => (liar.lie = (method) => (method.includes('Receipt') ? failure() : undefined)),
      ],
    ])('finds it everywhere: %s', async (_, prepare) => {
      const { reader, liar, witness } = await world();
      prepare({ liar, witness });
      const seen = await reader.lookEverywhere(bumped);
      expect(seen?.inclusion.transaction).toBe(HASH);
      expect([...(seen?.inclusion.credited ?? [])]).toEqual([['a', 1]]);
    });

    it('does not find nothing while a node that may have it does not answer', async () => {
      const { reader, liar, witness, chain } = await world();
      const silent: FakeNode['lie'] = (method) => (method.includes('Receipt') ? SILENT : undefined);
      liar.lie = (method) => (method.includes('Receipt') ? result(null) : undefined);
      witness.lie = silent;
      await expect(reader.lookEverywhere(bumped)).rejects.toThrow(ChainUnavailableError);
      liar.lie = silent;
      for (const { refusals } of chain.endpoints) jest.spyOn(refusals, 'has').mockReturnValue(true);
      await expect(reader.lookEverywhere(bumped)).rejects.toThrow(ChainUnavailableError);
    });

    it('finds nothing by the others where one is away, or has proved that it has no receipts', async () => {
      const { reader, liar, witness, chain } = await world();
      liar.lie = (method) => (method.includes('Receipt') ? result(null) : undefined);
      witness.lie = (method) => (method.includes('Receipt') ? SILENT : undefined);
      const other = chain.endpoints[1];
      if (other === undefined) throw new Error('two nodes');
      const spy = jest.spyOn(other.refusals, 'has').mockReturnValue(true);
      expect(await reader.lookEverywhere(bumped)).toBeUndefined();
      spy.mockReturnValue(false);
      other.isReachable = false;
      expect(await reader.lookEverywhere(bumped)).toBeUndefined();
    });

    it('finds nothing where no node has any of them', async () => {
      const { reader, liar, witness } = await world();
      for (const node of [liar, witness]) node.lag = 1;
      expect(await reader.lookEverywhere(bumped)).toBeUndefined();
    });
  });

  it('credits no payment by the logs of a transaction that failed', async () => {
    const { truth, liar, look } = await world(false);
    const logs = paymentLogs(refOf(payment)).map((log, index) => ({
      ...log,
      logIndex: `0x${index}`,
    }));
    liar.lie = (method) =>
      method === 'eth_getTransactionReceipt'
        ? result({ ...(truth.receipt(HASH) as object), logs })
        : undefined;
    const inclusion = (await look()).included.get(tracked);
    expect([inclusion?.isSuccess, inclusion?.credited.size]).toEqual([false, 0]);
  });

  it('counts no nonce as used that the others do not, where one has no receipt for it', async () => {
    const { truth, liar, witness, look } = await world();
    truth.nonces = () => 4;
    liar.lie = (method) => {
      if (method === 'eth_getTransactionCount') return result('0x5');
      return method === 'eth_getTransactionReceipt' ? result(null) : undefined;
    };
    expect(await look()).toMatchObject({ usedNonces: 4 });
    // Nor while no second endpoint answers.
    witness.lie = () => failure();
    expect(await look()).toMatchObject({ usedNonces: 4 });
  });

  it('takes no block for replaced that a node which lags does not have yet', async () => {
    const { truth, view, reader } = await world();
    const latest = readBlockHeader(truth.header(19));
    if (latest === undefined) throw new Error('no header');
    const ahead = { number: 21n, hash: hash32(1234) };
    expect((await reader.replacedBlocks({ view, latest }, [ahead])).gone.size).toBe(0);
  });

  it('counts final nonces at the final block', async () => {
    const { truth, reader } = await world();
    const finalized = readBlockHeader(truth.header(19));
    if (finalized === undefined) throw new Error('no header');
    expect(await reader.finalNonces(finalized)).toBe(4);
  });
});
