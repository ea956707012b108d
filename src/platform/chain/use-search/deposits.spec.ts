import { describe, expect, it } from '@jest/globals';
import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem';
import {
  aChain,
  FakeChain,
  type FakeTransaction,
  hash32,
  paymentLogs,
  transferLog,
} from '../../../../test/builders/platform/chain/fake-chain.js';
import {
  anAcceptedPayment,
  anEip3009Authorization,
} from '../../../../test/builders/protocol/payment/accepted-payment.js';
import {
  channelIdOf,
  CONFIG,
} from '../../../../test/builders/protocol/schemes/batch-settlement/channel.js';
import { uintWord } from '../../../protocol/evm/abi-words.js';
import type { Call } from '../../../protocol/evm/calls.js';
import { CHANNEL_ESCROW, ERC3009_COLLECTOR, MULTICALL3 } from '../../../protocol/evm/contracts.js';
import { DEPOSITED_TOPIC } from '../../../protocol/evm/logs.js';
import type { AcceptedPayment } from '../../../protocol/payment/accepted-payment.js';
import { authorizationNonceOf, callOf } from '../../../protocol/payment/payment-facts.js';
import type { ChannelConfig } from '../../../protocol/schemes/batch-settlement/channel.js';
import type {
  Eip3009Deposit,
  Permit2Deposit,
} from '../../../protocol/schemes/batch-settlement/deposit.js';
import { refOf } from '../authorization-use.js';

const AMOUNT = 1000n;
const lower = (address: Address): Address => address.toLowerCase() as Address;
const PAYER = lower(CONFIG.payer);
const TOKEN = lower(CONFIG.token);
const ELSEWHERE: Address = `0x${'99'.repeat(20)}`;

function aChannel(salt: number) {
  const config = { ...CONFIG, payer: PAYER, token: TOKEN, salt: hash32(salt) };
  return { config: config as unknown as ChannelConfig, channelId: channelIdOf(config) };
}
type Channel = ReturnType<typeof aChannel>;
const [OWN, OTHER] = [aChannel(1), aChannel(2)];

function accepted(authorization: Eip3009Deposit | Permit2Deposit): AcceptedPayment {
  return anAcceptedPayment({ asset: TOKEN, amount: AMOUNT, authorization });
}
const byEip3009 = (salt = 1, channel: Channel = OWN): AcceptedPayment =>
  accepted({
    scheme: 'batch-settlement',
    method: 'eip3009',
    from: PAYER,
    signature: '0x12',
    ...channel,
    amount: AMOUNT,
    validAfter: 0n,
    validBefore: 9n ** 9n,
    salt: hash32(salt),
  });
const byPermit2 = (nonce = 7n, channel: Channel = OWN): AcceptedPayment =>
  accepted({
    scheme: 'batch-settlement',
    method: 'permit2',
    from: PAYER,
    signature: '0x12',
    ...channel,
    amount: AMOUNT,
    nonce,
    deadline: 9n ** 9n,
    sponsoredPermit: undefined,
  });

type Logs = NonNullable<FakeTransaction['logs']>;
const transfer = (payer: Address, payTo: Address, amount = AMOUNT): Logs[number] =>
  transferLog({ method: 'eip3009', asset: TOKEN, payer, nonce: 0n, payTo, amount });
const use = (payment: AcceptedPayment): Logs => paymentLogs(refOf(payment)).slice(0, 1);
const deposited = ({ channelId }: Channel, amount = AMOUNT): Logs[number] => ({
  address: CHANNEL_ESCROW,
  topics: [DEPOSITED_TOPIC, channelId, hash32(5)],
  data: `0x${uintWord(amount)}${uintWord(amount)}`,
});
const collected = (payment: AcceptedPayment, channel: Channel = OWN, amount = AMOUNT): Logs => [
  ...use(payment),
  transfer(PAYER, ERC3009_COLLECTOR, amount),
  transfer(ERC3009_COLLECTOR, CHANNEL_ESCROW, amount),
  deposited(channel, amount),
];
const permitted = (channel: Channel): Logs => [transfer(PAYER, CHANNEL_ESCROW), deposited(channel)];
const allowingFailures = (...calls: readonly Call[]): Call => ({
  to: MULTICALL3,
  data: encodeFunctionData({
    abi: parseAbi([
      'struct Call3 { address target; bool allowFailure; bytes callData; }',
      'function aggregate3(Call3[] calls)',
    ]),
    args: [calls.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))],
  }),
});
const UNREADABLE: Call = { to: ELSEWHERE, data: '0x12345678' };

/** Who used them, where one transaction has this calldata and these logs. */
async function usesOf(call: Call, logs: Logs, ...payments: readonly AcceptedPayment[]) {
  const truth = new FakeChain(20);
  truth.mine({ hash: hash32(1), to: call.to, input: call.data, logs });
  truth.call = (block): Hex => `0x${uintWord(block >= 20 ? 2n ** 256n - 1n : 0n)}`;
  const { chain } = await aChain(truth, 2);
  const found = [];
  for (const payment of payments) {
    const outcome = await chain.uses.find(refOf(payment), { from: 10n, to: 20n });
    if (outcome.kind !== 'found') throw new Error('not found');
    const { logIndex, otherLogs, moved } = outcome.use;
    found.push({ logIndex, otherLogs, isMoved: moved !== undefined });
  }
  return found;
}
const unpaid = { logIndex: undefined, otherLogs: undefined, isMoved: false };
const paidBy = (logIndex: number, ...otherLogs: number[]) => ({
  logIndex,
  otherLogs: otherLogs.length === 0 ? undefined : otherLogs,
  isMoved: true,
});

describe('who used a deposit by EIP-3009', () => {
  const payment = byEip3009();

  it('has made it where the escrow names its channel', async () => {
    const logs = collected(payment);
    expect(await usesOf(callOf(payment), logs, payment)).toEqual([paidBy(3)]);
    expect(await usesOf(UNREADABLE, logs, payment)).toEqual([paidBy(3)]);
  });

  it.each([0n, 1n])('has not where its payer sent himself %i with the nonce', async (amount) => {
    const nonce: Hex = `0x${uintWord(authorizationNonceOf(payment))}`;
    const own = anAcceptedPayment({
      asset: TOKEN,
      payTo: ELSEWHERE,
      amount,
      authorization: anEip3009Authorization({ from: PAYER, to: ELSEWHERE, value: amount, nonce }),
    });
    const logs = paymentLogs(refOf(own));
    expect(await usesOf(callOf(own), logs, payment)).toEqual([unpaid]);
  });

  it('has not where the money went into another channel beside that', async () => {
    const rest = collected(byEip3009(2, OTHER), OTHER);
    const logs = [...use(payment), transfer(PAYER, ELSEWHERE, 0n), ...rest];
    expect(await usesOf(UNREADABLE, logs, payment)).toEqual([unpaid]);
  });

  it('has not where the channel got another amount', async () => {
    const logs = collected(payment, OWN, AMOUNT - 1n);
    expect(await usesOf(UNREADABLE, logs, payment)).toEqual([unpaid]);
    const more = [...logs, transfer(PAYER, ERC3009_COLLECTOR)];
    expect(await usesOf(UNREADABLE, more, payment)).toEqual([unpaid]);
  });

  it('has not where another contract says so', async () => {
    const logs = collected(payment).slice(0, 3);
    const said = { ...deposited(OWN), address: ELSEWHERE };
    expect(await usesOf(UNREADABLE, [...logs, said], payment)).toEqual([unpaid]);
  });

  it('has made each of two equal ones, each by the event after its use first', async () => {
    const other = byEip3009(2);
    const logs = [...collected(payment), ...collected(other)];
    expect(await usesOf(UNREADABLE, logs, payment, other)).toEqual([paidBy(3, 7), paidBy(7, 3)]);
  });
});

describe('who used a deposit by Permit2', () => {
  const payment = byPermit2();

  it('has made it where the escrow names its channel', async () => {
    expect(await usesOf(callOf(payment), permitted(OWN), payment)).toEqual([paidBy(1)]);
  });

  it('has not where its payer used the same nonce for another channel', async () => {
    const other = byPermit2(7n, OTHER);
    const found = await usesOf(callOf(other), permitted(OTHER), payment, other);
    expect(found).toEqual([unpaid, paidBy(1)]);
  });

  it('has not where it failed beside one into another channel', async () => {
    const other = byPermit2(8n, OTHER);
    const both = allowingFailures(callOf(payment), callOf(other));
    const found = await usesOf(both, permitted(OTHER), payment, other);
    expect(found).toEqual([unpaid, paidBy(1)]);
  });

  it.each([1, 2])('has made it before a stranger presented it again, %i to 1', async (again) => {
    const other = byPermit2(8n, OTHER);
    const truth = new FakeChain(20);
    const called = ({ to, data }: Call) => ({ to, input: data });
    truth.mine({ hash: hash32(1), ...called(callOf(payment)), logs: permitted(OWN) });
    const both = allowingFailures(callOf(payment), callOf(other));
    for (let times = 1; times <= again; times += 1) {
      truth.mine({ hash: hash32(1 + times), ...called(both), logs: permitted(OTHER) });
    }
    truth.call = (block): Hex => `0x${uintWord(block >= 20 ? 2n ** 256n - 1n : 0n)}`;
    const { chain } = await aChain(truth, 2);
    const range = { from: 10n, to: BigInt(truth.head) };
    expect(await chain.uses.find(refOf(payment), range)).toMatchObject({
      use: { transaction: hash32(1), logIndex: 1 },
    });
  });

  it('has made each of several, which share the events of their channel', async () => {
    const [elsewhere, second] = [byPermit2(9n, OTHER), byPermit2(8n)];
    const all = allowingFailures(callOf(elsewhere), callOf(payment), callOf(second));
    const logs = [...permitted(OTHER), ...permitted(OWN), ...permitted(OWN)];
    const found = await usesOf(all, logs, elsewhere, payment, second);
    expect(found).toEqual([paidBy(1), paidBy(3, 5), paidBy(3, 5)]);
  });
});
