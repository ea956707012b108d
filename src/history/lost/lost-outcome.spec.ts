import { describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import { LANE, STRANGER } from '../../../test/builders/history/reconciliation/records.js';
import { aRecorded, idOf } from '../../../test/builders/history/recorded-settlement.js';
import {
  aChain,
  failure,
  FakeChain,
  type FakeNode,
  hash32,
  paymentLogs,
  result,
} from '../../../test/builders/platform/chain/fake-chain.js';
import { TestClock } from '../../../test/builders/platform/concurrency/clock.js';
import { anAcceptedPayment } from '../../../test/builders/protocol/payment/accepted-payment.js';
import { refOf } from '../../platform/chain/authorization-use.js';
import { callOf } from '../../protocol/payment/payment-facts.js';
import { ChainEvidence } from '../reconciliation/chain-evidence.js';
import { rowOf, type SettlementRow } from '../settlement-row.js';
import { LostOutcomes } from './lost-outcome.js';

class HastyClock extends TestClock {
  override sleep(): Promise<void> {
    return Promise.resolve();
  }
}

/** Blocks are ten seconds apart; the newest of them is 40, the newest final one 38. */
const START = 1_700_000_000;
const timeOf = (block: number) => START + 10 * block;
const DEADLINE = timeOf(20);
const TX = hash32(4711);
const PAYMENT = anAcceptedPayment();
const REF = refOf(PAYMENT);

describe('what the chain says of a settlement that the ledger has lost', () => {
  /** A row that was claimed at block 10 and could be used until block 20. */
  function aRow(more: Partial<SettlementRow> = {}): SettlementRow {
    const { details, ...recorded } = aRecorded('a', 'queued');
    const row = rowOf(56, 1, {
      kind: 'recorded',
      id: idOf('a'),
      version: { ms: 1000, sequence: 1 },
      settlement: {
        ...recorded,
        view: { ...recorded.view, transaction: undefined },
        times: { ...recorded.times, claimed: timeOf(10) * 1000 },
        details: details && {
          ...details,
          token: REF.asset,
          payer: REF.payer,
          payTo: PAYMENT.payTo,
          amount: PAYMENT.amount,
          authorizationNonce: REF.nonce,
          deadline: BigInt(DEADLINE),
          hashes: [],
          times: { ...details.times, allocated: undefined },
        },
      },
    });
    return { ...row, ...more };
  }
  /** The same once an attempt was stored in the time of block 11. */
  const aSentRow = (...hashes: readonly Hex[]) =>
    aRow({
      state: 'broadcast',
      allocated_at: new Date(timeOf(11) * 1000),
      transactions: hashes.map((hash) => Buffer.from(hash.slice(2), 'hex')),
    });

  async function world(
    used: { readonly at: number; readonly from: Address; readonly isOther?: boolean } | undefined,
    lanes: readonly Address[] = [LANE],
  ) {
    const truth = new FakeChain(41);
    truth.timestamp = timeOf;
    truth.call = (block) => hash32(used !== undefined && block >= used.at ? 1 : 0);
    if (used !== undefined) {
      const { to, data: input } = callOf(PAYMENT);
      // Without its transfer where it was used for nothing.
      const logs = paymentLogs(REF).slice(0, used.isOther === true ? 1 : 2);
      const sent = { from: used.from, nonce: 7, value: 0n };
      truth.blocks[used.at] = [{ hash: TX, to, input, logs, ...sent }];
    }
    const { chain, nodes } = await aChain(truth, 2);
    const evidence = new ChainEvidence(chain, new HastyClock());
    const final = await evidence.header(38n);
    const ownSenders = () => Promise.resolve(new Set(lanes));
    return { truth, nodes, outcomes: new LostOutcomes({ chain, evidence, final, ownSenders }) };
  }
  const everywhere = (nodes: readonly FakeNode[], method: string, answer = failure()) => {
    for (const node of nodes) node.lie = (asked) => (asked === method ? answer : undefined);
  };
  const at = (block: number) => ({
    transaction: TX,
    blockNumber: BigInt(block),
    blockHash: hash32(BigInt(block) + 2n ** 128n),
    blockTime: timeOf(block),
  });

  it('is that it expired, where it was not used and never can be', async () => {
    const { outcomes } = await world(undefined);
    expect(await outcomes.resolve(aRow())).toEqual({
      kind: 'ended',
      ending: {
        state: 'expired',
        isPaid: false,
        place: undefined,
        reason: 'invalid_exact_evm_payload_authorization_valid_before',
      },
    });
  });

  it('is nothing as long as it can be used in a block after the newest final one', async () => {
    const { outcomes } = await world(undefined);
    const resolved = await outcomes.resolve(aRow({ deadline: String(timeOf(38)) }));
    expect(resolved).toEqual({ kind: 'unresolved', why: 'unexpired' });
    const past = await outcomes.resolve(aRow({ deadline: String(timeOf(38) - 1) }));
    expect(past).toMatchObject({ ending: { state: 'expired' } });
  });

  it('is that it is paid, by a transaction unknown to the archive', async () => {
    const { outcomes } = await world({ at: 12, from: LANE });
    expect(await outcomes.resolve(aRow())).toEqual({
      kind: 'ended',
      ending: {
        state: 'finalized',
        isPaid: true,
        reason: undefined,
        place: { ...at(12), logIndex: 1 },
      },
    });
  });

  it('is not known of a deposit that was used, whose channel the archive does not name', async () => {
    const channel = { scheme: 'batch-settlement' };
    const { outcomes } = await world({ at: 12, from: STRANGER });
    const sent = { ...aSentRow(hash32(1)), ...channel };
    expect(await outcomes.resolve(sent)).toEqual({ kind: 'unresolved', why: 'user_unknown' });
    const unused = await world(undefined);
    expect(await unused.outcomes.resolve(aRow(channel))).toMatchObject({
      ending: { state: 'expired', isPaid: false },
    });
  });

  it('is that it is paid by its own transaction, with any lanes', async () => {
    const { outcomes } = await world({ at: 12, from: LANE }, []);
    expect(await outcomes.resolve(aSentRow(hash32(1), TX))).toMatchObject({
      ending: { state: 'finalized', isPaid: true, place: { transaction: TX } },
    });
  });

  it('is not that a stranger paid while nothing says who we are', async () => {
    const { outcomes } = await world({ at: 12, from: LANE }, []);
    expect(await outcomes.resolve(aRow())).toEqual({ kind: 'unresolved', why: 'lanes_unknown' });
  });

  it('is that a copy of what was sent has paid it', async () => {
    const { outcomes } = await world({ at: 12, from: STRANGER });
    expect(await outcomes.resolve(aSentRow(hash32(1)))).toEqual({
      kind: 'ended',
      ending: {
        state: 'foreign',
        isPaid: true,
        reason: undefined,
        place: { ...at(12), logIndex: 1 },
      },
    });
  });

  it('is that it was presented elsewhere: before it was sent, or where it never was', async () => {
    const { outcomes } = await world({ at: 11, from: STRANGER });
    const elsewhere = {
      kind: 'ended',
      ending: {
        state: 'foreign',
        isPaid: false,
        place: { ...at(11), logIndex: undefined },
        reason: 'invalid_exact_evm_nonce_already_used',
      },
    };
    expect(await outcomes.resolve(aRow())).toEqual(elsewhere);
    expect(await outcomes.resolve(aSentRow(hash32(1)))).toMatchObject({
      ending: { state: 'foreign', isPaid: false },
    });
  });

  it('is that it was used without a payment', async () => {
    const stranger = await world({ at: 12, from: STRANGER, isOther: true });
    expect(await stranger.outcomes.resolve(aSentRow(hash32(1)))).toMatchObject({
      ending: { state: 'foreign', isPaid: false, place: { transaction: TX } },
    });
    const own = await world({ at: 12, from: LANE, isOther: true });
    expect(await own.outcomes.resolve(aSentRow(hash32(1)))).toMatchObject({
      ending: { state: 'reverted', isPaid: false, place: { transaction: TX } },
    });
  });

  it('is nothing where one endpoint says otherwise, or none answers', async () => {
    const { outcomes, nodes } = await world(undefined);
    const [one] = nodes;
    if (one === undefined) throw new Error('no node');
    one.lie = (asked) => (asked === 'eth_call' ? result(hash32(1)) : undefined);
    expect(await outcomes.resolve(aRow())).toEqual({ kind: 'unresolved', why: 'unread' });
    everywhere(nodes, 'eth_call');
    expect(await outcomes.resolve(aRow())).toEqual({ kind: 'unresolved', why: 'unread' });
  });

  it('is nothing where it was used by an unknown transaction', async () => {
    const { outcomes, nodes } = await world({ at: 12, from: LANE });
    for (const node of nodes) {
      node.lie = (asked, [, isFull]) =>
        /^eth_(getLogs|getBlockReceipts|getTransactionReceipt)$/.test(asked) || isFull === true
          ? failure('pruned')
          : undefined;
    }
    expect(await outcomes.resolve(aRow())).toEqual({ kind: 'unresolved', why: 'unread' });
  });

  describe('before its deadline', () => {
    const anIncludedRow = (block: number, more: Partial<SettlementRow> = {}) => ({
      ...aSentRow(TX),
      state: 'included' as const,
      is_paid: true,
      transaction: Buffer.from(TX.slice(2), 'hex'),
      block_number: String(block),
      block_hash: Buffer.from(at(block).blockHash.slice(2), 'hex'),
      deadline: String(timeOf(60)),
      ...more,
    });
    const replaced = { block_hash: Buffer.alloc(32, 1) };

    it('is that no final block has its payment, where its block was replaced', async () => {
      const { outcomes } = await world(undefined);
      expect(await outcomes.resolve(anIncludedRow(12, replaced))).toEqual({
        kind: 'reorged',
        place: undefined,
      });
    });

    it('is that another block has its payment', async () => {
      const { outcomes } = await world({ at: 13, from: LANE });
      expect(await outcomes.resolve(anIncludedRow(12, replaced))).toEqual({
        kind: 'reorged',
        place: { ...at(13), logIndex: 1 },
      });
    });

    it('is that another transaction of it has paid', async () => {
      const { outcomes } = await world({ at: 13, from: LANE });
      const before = hash32(4712);
      const row = anIncludedRow(12, {
        ...replaced,
        transaction: Buffer.from(before.slice(2), 'hex'),
      });
      expect(await outcomes.resolve(row)).toEqual({
        kind: 'reorged',
        place: { ...at(13), logIndex: 1 },
      });
    });

    it.each<readonly [string, Parameters<typeof world>[0]]>([
      ['by a stranger', { at: 13, from: STRANGER }],
      ['without a payment', { at: 13, from: LANE, isOther: true }],
    ])('is nothing where its authorization was used %s', async (_, used) => {
      const { outcomes } = await world(used);
      const transaction = Buffer.from(hash32(4712).slice(2), 'hex');
      const row = anIncludedRow(12, { ...replaced, transaction, transactions: [transaction] });
      expect(await outcomes.resolve(row)).toEqual({ kind: 'unresolved', why: 'user_unknown' });
    });

    it('is nothing where the log of its payment cannot be read', async () => {
      const { outcomes, nodes } = await world({ at: 13, from: LANE });
      for (const node of nodes) {
        node.lie = (asked, [, isFull]) =>
          /^eth_(getLogs|getBlockReceipts)$/.test(asked) || isFull === true
            ? failure('pruned')
            : undefined;
      }
      const resolved = await outcomes.resolve(anIncludedRow(12, replaced));
      expect(resolved.kind).not.toBe('ended');
      expect(resolved).not.toEqual({ kind: 'reorged', place: undefined });
    });

    it.each<readonly [string, number, Partial<SettlementRow>]>([
      ['is nothing where its block is still there', 12, {}],
      ['is nothing of a block that is not final', 39, replaced],
      ['is nothing of what is in no block', 12, { state: 'broadcast' }],
    ])('%s', async (_, block, more) => {
      const { outcomes } = await world(block === 39 ? undefined : { at: 12, from: LANE });
      const resolved = await outcomes.resolve(anIncludedRow(block, more));
      expect(resolved.kind).toBe('unresolved');
    });

    it('is nothing where one endpoint still shows it', async () => {
      const { outcomes, nodes } = await world(undefined);
      const [one] = nodes;
      if (one === undefined) throw new Error('no node');
      one.lie = (asked) => (asked === 'eth_getTransactionReceipt' ? failure('pruned') : undefined);
      expect(await outcomes.resolve(anIncludedRow(12, replaced))).toEqual({
        kind: 'unresolved',
        why: 'unread',
      });
    });
  });

  it('is nothing of a record that was made again without its payment', async () => {
    const { outcomes } = await world(undefined);
    expect(await outcomes.resolve(aRow({ method: null, asset: null }))).toEqual({
      kind: 'unresolved',
      why: 'unread',
    });
  });
});
