import { describe, expect, it } from '@jest/globals';
import { type Address, encodeFunctionData, type Hex, numberToHex, parseAbi } from 'viem';
import {
  aChain as aRealChain,
  FakeChain,
  type FakeNode,
} from '../../../test/builders/platform/chain/fake-chain.js';
import {
  aChannelChain,
  aChannelPayment,
  bodyOf,
  channelIdOf,
  CONFIG,
  ESCROW,
} from '../../../test/builders/protocol/schemes/batch-settlement/channel.js';
import type { BlockPoint } from '../../platform/chain/chain-queries.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import type { RpcObserver } from '../../platform/chain/rpc/rpc-observer.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { addressWord, keccakOfText, uintWord } from '../../protocol/evm/abi-words.js';
import type { Call } from '../../protocol/evm/calls.js';
import type { Claim, Payment } from '../../protocol/payment/payment.js';
import type { JsonObject } from '../../protocol/payment/wire-values.js';
import type { PayoutClaim } from '../../protocol/schemes/batch-settlement/claims.js';
import { readPayout, readRefund } from '../../protocol/schemes/batch-settlement/read-claim.js';
import { ActionDetailsReader } from './action-details.js';
import { type SettleAnswer, SettleAnswers } from './settle-answer.js';

const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`;
const OWN = hashOf(0xaa);
const HEAD = 40_000n;

/** A log of the channel or of the receiver: its transaction is named after its block. */
interface Logged {
  readonly block: bigint;
  readonly amount: bigint;
  readonly transaction?: Hex;
  /** Calldata; that of the refund which was next there, where it is left out. */
  readonly input?: Hex;
}

interface World {
  /** The refund nonce, or what was paid out, from each block on. */
  readonly steps: readonly (readonly [bigint, bigint])[];
  readonly logs?: readonly Logged[];
  readonly receipts?: Readonly<
    Record<Hex, { readonly block: bigint; readonly isSuccess: boolean }>
  >;
  /** Blocks before this one have no state any more. */
  readonly stateFrom?: bigint;
  /** Every read hangs. */
  readonly isHanging?: boolean;
  /** Blocks that may be searched at once. */
  readonly piece?: bigint;
  /** The node has no logs, and fails where it is asked for some. */
  readonly hasNoLogs?: boolean;
  /** The node lacks the newest block. */
  readonly isBehind?: boolean;
  /** Called for each question about logs. */
  readonly onLogs?: () => void;
}

const REFUND_ABI = parseAbi([
  'struct Config { address payer; address payerAuthorizer; address receiver; address receiverAuthorizer; address token; uint40 withdrawDelay; bytes32 salt; }',
  'function refund(Config config, uint128 amount)',
  'function refundWithSignature(Config config, uint128 amount, uint256 nonce, bytes signature)',
]);
const refundInput = (nonce: bigint, amount = 200n): Hex =>
  encodeFunctionData({
    abi: REFUND_ABI,
    functionName: 'refundWithSignature',
    args: [CONFIG, amount, nonce, '0x12'],
  });
/** A receiver gives back by itself. */
const BARE_REFUND = encodeFunctionData({
  abi: REFUND_ABI,
  functionName: 'refund',
  args: [CONFIG, 200n],
});

function aChain(world: World, topics: readonly Hex[]): EvmChain {
  const chainId = 56;
  const stepAt = (block: bigint): bigint =>
    world.steps.filter(([from]) => from <= block).at(-1)?.[1] ?? 0n;
  const own = world.isBehind === true ? HEAD - 1n : HEAD;
  const blockOf = (at: BlockPoint): bigint => {
    if (at === 'latest') return own;
    return 'blockNumber' in at ? at.blockNumber : BigInt(at.blockHash);
  };
  const logs = (world.logs ?? []).map(({ block, amount, transaction }) => ({
    address: ESCROW.toLowerCase() as Address,
    topics,
    data: `0x${uintWord(amount)}`,
    logIndex: 0,
    transactionHash: transaction ?? hashOf(Number(block)),
    blockNumber: block,
  }));
  const view = {
    chainId,
    blockNumber: () => Promise.resolve(own),
    call: async (call: Call, _gas: unknown, at: BlockPoint = 'latest') => {
      const block = blockOf(at);
      if (block > own || (at !== 'latest' && block < (world.stateFrom ?? 0n))) {
        throw new ChainUnavailableError(chainId, 'a state that is not there');
      }
      const step = stepAt(block);
      if (call.data.startsWith('0xf0dc792e')) {
        return { status: 'returned', data: `0x${uintWord(step)}` };
      }
      if (call.data.startsWith('0x82ad56cb')) {
        return aChannelChain({ refundNonce: step }).chain.call(call, 0n);
      }
      return { status: 'returned', data: `0x${uintWord(step)}${uintWord(step)}` };
    },
    receipt: (hash: Hex) => {
      const logged = logs.filter(({ transactionHash }) => transactionHash === hash);
      const block = world.receipts?.[hash]?.block ?? logged[0]?.blockNumber;
      const isSuccess = world.receipts?.[hash]?.isSuccess ?? true;
      return Promise.resolve(
        block && { hash, isSuccess, logs: logged, blockHash: numberToHex(block, { size: 32 }) },
      );
    },
    transaction: (hash: Hex) => {
      const logged = (world.logs ?? []).find(
        ({ block, transaction = hashOf(Number(block)) }) => transaction === hash,
      );
      const input = logged && (logged.input ?? refundInput(stepAt(logged.block - 1n)));
      return Promise.resolve(input && { hash, input });
    },
    health: { hasLogs: world.hasNoLogs !== true, endpoint: { name: '56-0' } },
    logs: ({ from, to }: { from: bigint; to: bigint }) => {
      if (world.hasNoLogs === true) throw new Error('asked a node without logs');
      world.onLogs?.();
      return to - from < (world.piece ?? HEAD)
        ? Promise.resolve(logs.filter(({ blockNumber: at }) => at >= from && at <= to))
        : Promise.reject(new ChainUnavailableError(chainId, 'eth_getLogs'));
    },
  };
  return {
    chainId,
    quorumRead: async ({ read }: { read: (of: unknown) => Promise<{ value: unknown }> }) => {
      if (world.isHanging === true) await new Promise(() => undefined);
      return (await read(view)).value;
    },
  } as unknown as EvmChain;
}

async function aRefund(refundNonce: bigint): Promise<Payment> {
  const { payload } = await bodyOf('refund');
  const inner = {
    ...(payload['payload'] as JsonObject),
    amount: '200',
    refundNonce: String(refundNonce),
  };
  const claim = readRefund({ payload: { ...inner, claims: [] } });
  if (claim === undefined) throw new Error('not read');
  const { payment } = await aChannelPayment('refund');
  return { ...payment, claim };
}

async function aPayout(upTo: bigint): Promise<Payment> {
  const claim = readPayout({
    payload: { type: 'settle', receiver: CONFIG.receiver, token: CONFIG.token },
  });
  if (claim === undefined) throw new Error('not read');
  const { payment } = await aChannelPayment('refund');
  return { ...payment, claim: { ...claim, upTo } satisfies PayoutClaim as Claim };
}

const REFUNDED: readonly Hex[] = [
  keccakOfText('Refunded(bytes32,address,uint128)'),
  channelIdOf(CONFIG),
];
const SETTLED: readonly Hex[] = [
  keccakOfText('Settled(address,address,address,uint128)'),
  `0x${addressWord(CONFIG.receiver)}`,
  `0x${addressWord(CONFIG.token)}`,
];

interface Asked {
  readonly reader?: ActionDetailsReader;
  readonly own?: Hex | '';
  readonly finality?: SettleAnswer['finality'];
  readonly msLeft?: number;
}

/** A short form of what is answered to a success with this hash. */
async function answerWith(
  payment: Payment,
  world: World,
  {
    reader = new ActionDetailsReader(),
    own = '',
    finality = 'finalized',
    msLeft = 5000,
  }: Asked = {},
): Promise<string> {
  const isRefund = payment.claim.method === 'channel-refund';
  const chain = aChain(world, isRefund ? REFUNDED : SETTLED);
  const answers = new SettleAnswers(payment, finality, 'stl');
  const done = answers.doneBefore();
  const success = { ...done, body: { ...done.body, transaction: own } };
  const deadline = Date.now() + msLeft;
  const { body } = await reader.added(success, { payment, chain }, answers, deadline);
  const { amount = 'no amount', transaction, extra, errorReason } = body;
  const state = extra?.channelState === undefined ? '' : ' with the state';
  const hash = transaction === '' ? '-' : BigInt(transaction);
  return `${errorReason ?? amount} by ${hash}${state}`;
}

describe('what a success says of an action', () => {
  describe('a refund', () => {
    /** Refund 3 went into block 30000 and refund 4 into block 39000; refund 5 is next. */
    const steps = [
      [0n, 3n],
      [30_000n, 4n],
      [39_000n, 5n],
    ] as const;
    const logs = [
      { block: 30_000n, amount: 70n },
      { block: 39_000n, amount: 80n },
    ];

    it('has the amount in its own transaction', async () => {
      const own = { block: 39_000n, amount: 80n, transaction: OWN };
      expect(await answerWith(await aRefund(4n), { steps, logs: [own] }, { own: OWN })).toBe(
        `80 by ${BigInt(OWN)} with the state`,
      );
    });

    it.each(['included', 'finalized'] as const)(
      'that paid nothing has no part of the refund before it, where it is %s',
      async (finality) => {
        const receipts = { [OWN]: { block: 39_000n, isSuccess: true } };
        const world = { steps, logs: logs.slice(0, 1), receipts };
        expect(await answerWith(await aRefund(4n), world, { own: OWN, finality })).toBe(
          `0 by ${BigInt(OWN)} with the state`,
        );
        expect(
          await answerWith(await aRefund(4n), { ...world, logs: [] }, { own: OWN, finality }),
        ).toBe(`0 by ${BigInt(OWN)} with the state`);
      },
    );

    it('is not confused with one without a nonce in the same block', async () => {
      const bare = { block: 30_000n, amount: 90n, input: BARE_REFUND };
      const own = { block: 30_000n, amount: 70n, transaction: hashOf(7) };
      expect(await answerWith(await aRefund(3n), { steps, logs: [bare] })).toBe(
        'no amount by - with the state',
      );
      expect(await answerWith(await aRefund(3n), { steps, logs: [bare, own] })).toBe(
        '70 by 7 with the state',
      );
    });

    it('is found where a provider answers few blocks at a time', async () => {
      const world = { steps, logs, piece: 1000n };
      expect(await answerWith(await aRefund(3n), world)).toBe('70 by 30000 with the state');
    });

    it('is not looked for at a node without logs', async () => {
      const world = { steps, logs, hasNoLogs: true };
      expect(await answerWith(await aRefund(3n), world, { msLeft: 0 })).toBe(
        'no amount by - with the state',
      );
    });

    it('that a stranger has sent has the transaction of its own nonce, and not a later one', async () => {
      expect(await answerWith(await aRefund(3n), { steps, logs })).toBe(
        '70 by 30000 with the state',
      );
      expect(await answerWith(await aRefund(4n), { steps, logs })).toBe(
        '80 by 39000 with the state',
      );
      const receipts = { [OWN]: { block: 30_001n, isSuccess: false } };
      expect(await answerWith(await aRefund(3n), { steps, logs, receipts }, { own: OWN })).toBe(
        '70 by 30000 with the state',
      );
    });

    it.each<[string, World]>([
      ['and then another one paid', { steps, logs: logs.slice(1) }],
      [
        'after another one paid',
        {
          steps: [
            [0n, 2n],
            [20_000n, 3n],
            [35_000n, 4n],
          ],
          logs: [{ block: 20_000n, amount: 60n }],
        },
      ],
      [
        'and none other was made',
        {
          steps: [
            [0n, 3n],
            [30_000n, 4n],
          ],
        },
      ],
    ])('that a stranger has sent and that paid nothing has the amount 0, %s', async (_, world) => {
      expect(await answerWith(await aRefund(3n), world)).toBe('0 by - with the state');
    });

    it('that was done in a block which came during its search is found there', async () => {
      const world: World = {
        steps: [
          [0n, 3n],
          [HEAD, 4n],
        ],
        logs: [{ block: HEAD, amount: 60n }],
      };
      expect(await answerWith(await aRefund(3n), world)).toBe(`60 by ${HEAD} with the state`);
    });

    it('is found by a node that is a block behind the others', async () => {
      const world: World = { steps, logs, isBehind: true };
      expect(await answerWith(await aRefund(3n), world)).not.toContain('no amount');
    });

    it.each<[string, World]>([
      ['is older than what is searched', { steps: [[0n, 4n]] }],
      [
        'is older than another one that is found',
        {
          steps: [
            [0n, 4n],
            [39_000n, 5n],
          ],
          logs: logs.slice(1),
        },
      ],
      [
        'is in a block with another one',
        {
          steps: [
            [0n, 2n],
            [30_000n, 4n],
          ],
          logs: logs.slice(0, 1),
        },
      ],
      [
        'is in a block whose state is gone, and is in no calldata',
        { steps, logs: [{ block: 30_000n, amount: 70n, input: '0x' }], stateFrom: 39_990n },
      ],
    ])('that %s is no less a success, without an amount', async (_, world) => {
      expect(await answerWith(await aRefund(3n), world, { msLeft: 0 })).toBe(
        'no amount by - with the state',
      );
    });

    it('is found by its calldata where the state of its block is gone', async () => {
      const world = { steps, logs, stateFrom: 39_990n };
      expect(await answerWith(await aRefund(3n), world)).toBe('70 by 30000 with the state');
    });

    describe('whose nonce is used', () => {
      const whichIsDone = async (world: World) => {
        const [payment, chain] = [await aRefund(3n), aChain(world, REFUNDED)];
        return new ActionDetailsReader().whichIsDone({ payment, chain }, Date.now());
      };
      const other = { block: 30_000n, amount: 70n, input: refundInput(3n, 300n) };
      const gone = 39_990n;

      it.each<[string, World, Awaited<ReturnType<typeof whichIsDone>>]>([
        ['is done', { steps, logs }, 'this'],
        ['is done, in a block whose state is gone', { steps, logs, stateFrom: gone }, 'this'],
        ['is not: another amount', { steps, logs: [other] }, 'another'],
        ['is not, by calldata alone', { steps, logs: [other], stateFrom: gone }, 'another'],
        ['is too old', { steps: [[0n, 4n]] }, 'unknown'],
        ['paid nothing', { steps, logs: logs.slice(1) }, 'unknown'],
        ['is at nodes without logs', { steps, logs: [other], hasNoLogs: true }, 'unknown'],
        ['is at a node that hangs', { steps, logs, isHanging: true }, undefined],
        ['has logs that cost too many calls', { steps, logs, piece: 100n }, undefined],
      ])('%s', async (_, world, which) => {
        expect(await whichIsDone(world)).toBe(which);
      });

      it('has no amount of the one that was done instead', async () => {
        expect(await answerWith(await aRefund(3n), { steps, logs: [other] })).toBe(
          'no amount by - with the state',
        );
      });
    });

    it('whose own receipt cannot be read yet is pending until it is final', async () => {
      const world = { steps: [[0n, 3n]] } as const;
      const asked = { own: OWN, msLeft: 0 } as const;
      const refund = await aRefund(2n);
      expect(await answerWith(refund, world, { ...asked, finality: 'included' })).toBe(
        `settlement_pending by ${BigInt(OWN)}`,
      );
      expect(await answerWith(refund, world, asked)).toBe(
        `no amount by ${BigInt(OWN)} with the state`,
      );
    });

    it('whose request has no time left is not held up by a chain that hangs', async () => {
      const before = Date.now();
      const hanging = { steps, logs, isHanging: true };
      expect(await answerWith(await aRefund(3n), hanging, { msLeft: 0 })).toBe(
        'network_unavailable by -',
      );
      expect(Date.now() - before).toBeLessThan(1500);
    });
  });

  describe('a payout', () => {
    const steps = [
      [0n, 100n],
      [30_000n, 300n],
      [39_000n, 900n],
    ] as const;
    const logs = [
      { block: 20_000n, amount: 100n },
      { block: 30_000n, amount: 200n },
      { block: 39_000n, amount: 600n },
    ];

    it('has the transaction that brought the receiver to its total, and not a later one', async () => {
      expect(await answerWith(await aPayout(300n), { steps, logs })).toBe('200 by 30000');
      expect(await answerWith(await aPayout(301n), { steps, logs })).toBe('600 by 39000');
      expect(await answerWith(await aPayout(100n), { steps, logs: logs.slice(1) })).toBe(
        'no amount by -',
      );
    });

    it('is searched once for all requests that ask for it together, and soon after', async () => {
      let asked = 0;
      const world = { steps, logs, piece: 1000n, onLogs: () => (asked += 1) };
      await answerWith(await aPayout(300n), world);
      const once = asked;
      const reader = new ActionDetailsReader();
      const repeats = Array.from({ length: 100 }, async () =>
        answerWith(await aPayout(300n), world, { reader }),
      );
      expect(new Set(await Promise.all(repeats))).toEqual(new Set(['200 by 30000']));
      expect(await answerWith(await aPayout(300n), world, { reader })).toBe('200 by 30000');
      expect(asked).toBe(2 * once);
      // Another total is another action.
      expect(await answerWith(await aPayout(301n), world, { reader })).toBe('600 by 39000');
      expect(asked).toBe(3 * once);
    });

    it('is not searched for with more calls than a stranger may cause', async () => {
      let asked = 0;
      const world = { steps, logs, piece: 100n, onLogs: () => (asked += 1) };
      expect(await answerWith(await aPayout(300n), world)).toBe('no amount by -');
      expect(asked).toBeLessThanOrEqual(120);
      expect(asked).toBeGreaterThan(60);
    });

    it.each([500n, 1000n])('is found at nodes that answer %d blocks at a time', async (piece) => {
      expect(await answerWith(await aPayout(300n), { steps, logs, piece })).toBe('200 by 30000');
    });

    it('that came second has the transaction of the first', async () => {
      const receipts = { [OWN]: { block: 30_001n, isSuccess: true } };
      expect(await answerWith(await aPayout(300n), { steps, logs, receipts }, { own: OWN })).toBe(
        '200 by 30000',
      );
    });
  });

  it('is no disagreement of endpoints that are a block apart', async () => {
    const disagreed: string[] = [];
    const rpcObserver = {
      disagreed: ({ what }: { what: string }) => disagreed.push(what),
    } as unknown as RpcObserver;
    const saying =
      (paid: bigint): FakeNode['lie'] =>
      (method) =>
        method === 'eth_call'
          ? { kind: 'result', value: `0x${uintWord(paid)}${uintWord(paid)}` }
          : undefined;
    const { chain } = await aRealChain(new FakeChain(8), 2, { rpcObserver }, (node, index) => {
      node.lie = saying(index === 0 ? 300n : 100n);
    });
    const payment = await aPayout(300n);
    expect(
      await new ActionDetailsReader().isDone({ payment, chain }, 'included', Infinity),
    ).toBeUndefined();
    expect(disagreed).toEqual([]);
    await chain.close();
  });
});
