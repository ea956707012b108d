import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  aChain,
  failure,
  FakeChain,
  type FakeNode,
  result,
  SILENT,
} from '../../../test/builders/platform/chain/fake-chain.js';
import {
  ChainUnavailableError,
  CodeUnresponsiveError,
  EndpointsDisagreeError,
} from '../../protocol/errors.js';
import type { ChainView } from './chain-view.js';
import type { EvmChain } from './evm-chain.js';
import type { RpcOutcome } from './rpc/rpc-outcome.js';

const ACCOUNT = '0x5555555555555555555555555555555555555555';
const PAYEE = '0x4444444444444444444444444444444444444444';

/** Work of a judgement: it names the endpoint that was asked. */
const yes = (view: ChainView): Promise<string> => Promise.resolve(view.health.endpoint.name);

const hashAt = (chain: EvmChain, number: bigint): Promise<string> =>
  chain.quorumRead({
    what: 'test',
    read: async (view) => {
      const block = await view.block(number);
      return { value: block?.hash ?? 'none', key: block?.hash ?? 'none' };
    },
  });

describe('what is believed for good', () => {
  it('is asked of two endpoints, which have to agree', async () => {
    const alerts: unknown[] = [];
    const truth = new FakeChain(10);
    const { chain, nodes } = await aChain(truth, 2, {
      observer: {
        endpointChanged: () => undefined,
        contractFound: () => undefined,
        endpointsDisagree: (what, answers) => alerts.push({ what, answers }),
        endpointsAgree: () => undefined,
      },
    });
    expect(await hashAt(chain, 5n)).toBe(truth.blockHash(5));
    const [liar] = nodes;
    if (liar !== undefined) {
      liar.lie = (method) =>
        method === 'eth_getBlockByNumber'
          ? result({ ...(truth.header(5) as object), hash: truth.blockHash(77) })
          : undefined;
    }
    await expect(hashAt(chain, 5n)).rejects.toThrow(EndpointsDisagreeError);
    await expect(hashAt(chain, 5n)).rejects.toThrow(EndpointsDisagreeError);
    expect(alerts).toEqual([
      {
        what: 'test',
        answers: [
          { endpoint: '56-0', answer: truth.blockHash(77) },
          { endpoint: '56-1', answer: truth.blockHash(5) },
        ],
      },
    ]);
    if (liar !== undefined) liar.lie = () => undefined;
    expect(await hashAt(chain, 5n)).toBe(truth.blockHash(5));
  });

  it('is decided by the third endpoint where the first two differ', async () => {
    const truth = new FakeChain(10);
    const { chain, nodes } = await aChain(truth, 3);
    const [liar] = nodes;
    if (liar !== undefined) {
      liar.lie = (method) => (method === 'eth_getBlockByNumber' ? result(null) : undefined);
    }
    expect(await hashAt(chain, 5n)).toBe(truth.blockHash(5));
  });

  it('waits for a second endpoint that failed just now, and does without one that stays away', async () => {
    const truth = new FakeChain(10);
    const { chain, nodes } = await aChain(truth, 2);
    const second = nodes[1];
    if (second === undefined) throw new Error('two nodes');
    second.lie = () => SILENT;
    await expect(hashAt(chain, 5n)).rejects.toThrow(ChainUnavailableError);
    const health = chain.endpoints[1];
    if (health !== undefined) health.failingSince = performance.now() - 2000;
    expect(await hashAt(chain, 5n)).toBe(truth.blockHash(5));
    // It is asked again as soon as it answers.
    second.lie = () => undefined;
    await chain.probe();
    const before = second.asked.length;
    await hashAt(chain, 5n);
    expect(second.asked.length).toBeGreaterThan(before);
  });
});

describe('the final block', () => {
  const final = async (chain: EvmChain): Promise<bigint | undefined> =>
    (await chain.currentFinalizedBlock())?.number;

  it('is the older one of what two endpoints say', async () => {
    const truth = new FakeChain(20);
    const { chain, nodes } = await aChain(truth, 2);
    expect(await final(chain)).toBe(17n);
    if (nodes[1] !== undefined) nodes[1].lag = 2;
    expect(await final(chain)).toBe(15n);
  });

  it('is not taken from one node if it does not exist, alone or not', async () => {
    for (const count of [1, 2]) {
      const truth = new FakeChain(20);
      const { chain, nodes } = await aChain(truth, count);
      const [liar] = nodes;
      if (liar === undefined) throw new Error('a node');
      liar.lie = (method, [name]) =>
        method === 'eth_getBlockByNumber' && name === 'finalized'
          ? result({ ...(truth.header(19) as object), number: '0x3b9aca00' })
          : undefined;
      // Alone it has nothing else to say; beside another one it cannot make more of it.
      expect(await final(chain).catch(() => 'none')).toBe(count === 1 ? 'none' : 17n);
      liar.lie = () => undefined;
      expect(await final(chain)).toBe(17n);
    }
  });

  it('is not taken if two endpoints differ at the same height', async () => {
    const truth = new FakeChain(20);
    const { chain, nodes } = await aChain(truth, 2);
    const [liar] = nodes;
    if (liar !== undefined) {
      liar.lie = (method, [name]) =>
        method === 'eth_getBlockByNumber' && (name === 'finalized' || name === '0x11')
          ? result({ ...(truth.header(17) as object), hash: truth.blockHash(99) })
          : undefined;
    }
    await expect(final(chain)).rejects.toThrow(EndpointsDisagreeError);
  });
});

describe('the head', () => {
  it('is the newest of all endpoints, and a leap has to be borne out', async () => {
    const truth = new FakeChain(20);
    const { chain, nodes } = await aChain(truth, 2);
    const [first, second] = nodes;
    if (first === undefined || second === undefined) throw new Error('two nodes');
    first.lag = 2;
    await chain.probe();
    expect(chain.newestKnownBlock).toBe(19n);
    const leap = { ...(truth.header(19) as object), number: '0x3b9aca00' };
    second.lie = (method, [name]) =>
      method === 'eth_getBlockByNumber' && name === 'latest' ? result(leap) : undefined;
    const preferred = chain.views()[0]?.health.endpoint.name;
    const verified = await chain.verifyNearHead(yes, () => 'near', true);
    // By the leap the first one asked would be far behind.
    expect(verified.value).toBe(preferred);
    expect(verified.newestBlock).toBeLessThan(20n);
    expect(chain.newestKnownBlock).toBeLessThan(20n);
  });
});

describe('the newest time of a block', () => {
  it('is not old because one of two endpoints says an old one', async () => {
    const truth = new FakeChain(20);
    truth.timestamp = () => 1_700_000_000;
    const { chain, nodes } = await aChain(truth, 2);
    const [liar] = nodes;
    if (liar === undefined) throw new Error('two nodes');
    liar.lie = (method, [name]) =>
      method === 'eth_getBlockByNumber' && name === 'latest'
        ? result({ ...(truth.header(19) as object), timestamp: '0x1' })
        : undefined;
    await chain.probe();
    expect(chain.newestBlockTime).toBe(1_700_000_000);
  });
});

describe('the newest blocks', () => {
  it('end with the newest one any endpoint has shown, in any order of asking', async () => {
    const truth = new FakeChain(20);
    const { chain, nodes } = await aChain(truth, 2);
    for (const lagging of nodes) {
      for (const node of nodes) node.lag = node === lagging ? 2 : 0;
      await chain.probe();
      expect(await chain.recentBlocks(5n)).toEqual({ from: 14n, to: 19n });
    }
    expect(await chain.recentBlocks(100n)).toEqual({ from: 0n, to: 19n });
  });
});

describe('a judgement', () => {
  it('says yes only by a node at the newest block any node has shown', async () => {
    const { chain, nodes } = await aChain(new FakeChain(20), 2);
    if (nodes[0] !== undefined) nodes[0].lag = 1;
    expect(await chain.verifyNearHead(yes, () => 'newest', true)).toEqual({
      value: '56-1',
      newestBlock: 19n,
    });
    expect((await chain.verifyNearHead(yes, () => 'near', true)).value).toBe('56-0');
  });

  it('says no only by a node that is not far behind', async () => {
    const { chain, nodes } = await aChain(new FakeChain(20), 2);
    if (nodes[0] !== undefined) nodes[0].lag = 3;
    expect((await chain.verifyNearHead(yes, () => 'near', true)).value).toBe('56-1');
    expect((await chain.verifyNearHead(yes, () => 'any', true)).value).toBe('56-1');
  });

  it('is not made when the node at the newest block does not answer', async () => {
    const { chain, nodes } = await aChain(new FakeChain(20), 2);
    if (nodes[0] !== undefined) nodes[0].lag = 1;
    const work = (view: ChainView): Promise<string> =>
      view.health.endpoint.name === '56-1'
        ? Promise.reject(new ChainUnavailableError(56, 'x'))
        : yes(view);
    await expect(chain.verifyNearHead(work, () => 'newest', true)).rejects.toThrow(
      ChainUnavailableError,
    );
  });
});

describe('a judgement by two', () => {
  const names = (answer: readonly string[]) => ({ value: answer.join(), hasDisagreement: false });

  it('is made by both, however far behind the second one is', async () => {
    const { chain, nodes } = await aChain(new FakeChain(20), 2);
    if (nodes[1] !== undefined) nodes[1].lag = 5;
    expect((await chain.verifyByTwo(yes, () => 'newest', names)).value).toBe('56-0,56-1');
  });

  it('asks a third one where the two disagree', async () => {
    const { chain } = await aChain(new FakeChain(20), 3);
    const verified = await chain.verifyByTwo(
      yes,
      () => 'newest',
      (answer) => ({
        value: answer.join(),
        hasDisagreement: answer.length < 3,
      }),
    );
    expect(verified.value).toBe('56-0,56-1,56-2');
  });

  it('waits for a second one that failed just now, and does without one that stays away', async () => {
    const { chain } = await aChain(new FakeChain(20), 2);
    const work = (view: ChainView): Promise<string> =>
      view.health.endpoint.name === '56-1'
        ? Promise.reject(new ChainUnavailableError(56, 'x'))
        : yes(view);
    await expect(chain.verifyByTwo(work, () => 'newest', names)).rejects.toThrow(
      ChainUnavailableError,
    );
    const health = chain.endpoints[1];
    if (health !== undefined) health.isReachable = false;
    expect((await chain.verifyByTwo(work, () => 'newest', names)).value).toBe('56-0');
  });

  describe('of code that one of them does not answer for, though it answers others', () => {
    const called = async (view: ChainView): Promise<string> => {
      await view.call({ to: ACCOUNT, data: '0x' });
      return view.health.endpoint.name;
    };
    const muteFor = (node: FakeNode | undefined): void => {
      if (node === undefined) throw new Error('a node');
      node.lie = (method, [call]) => {
        if (method !== 'eth_call') return undefined;
        return (call as { to?: string }).to === ACCOUNT ? SILENT : result('0x');
      };
    };

    it('is not made by it alone', async () => {
      const { chain, nodes } = await aChain(new FakeChain(20), 2);
      muteFor(nodes[0]);
      const judging = chain.verifyByTwo(called, () => 'newest', names);
      await expect(judging).rejects.toThrow(ChainUnavailableError);
      await expect(judging).rejects.not.toThrow(CodeUnresponsiveError);
    });

    it('is not made by it alone where the other one fails otherwise', async () => {
      const { chain, nodes } = await aChain(new FakeChain(20), 2);
      muteFor(nodes[0]);
      if (nodes[1] !== undefined)
        nodes[1].lie = (method) => (method === 'eth_call' ? SILENT : undefined);
      const judging = chain.verifyByTwo(called, () => 'newest', names);
      await expect(judging).rejects.not.toThrow(CodeUnresponsiveError);
    });

    it('is made by two others', async () => {
      const { chain, nodes } = await aChain(new FakeChain(20), 3);
      muteFor(nodes[0]);
      expect((await chain.verifyByTwo(called, () => 'newest', names)).value).toBe('56-1,56-2');
    });

    it('is that it does not answer where two say so', async () => {
      for (const count of [2, 3]) {
        const { chain, nodes } = await aChain(new FakeChain(20), count);
        muteFor(nodes[0]);
        muteFor(nodes[1]);
        const judging = chain.verifyByTwo(called, () => 'newest', names);
        await expect(judging).rejects.toThrow(CodeUnresponsiveError);
      }
    });
  });
});

describe('that code burns gas', () => {
  it('is known of the endpoint that showed it, and slows down no other one', async () => {
    const { chain, nodes } = await aChain(new FakeChain(20), 2);
    const token = `0x${'11'.repeat(20)}` as const;
    const settlement = {
      call: { to: token, data: '0x' as const },
      sender: undefined,
      gas: 300_000n,
      token,
      payer: ACCOUNT,
      payTo: ACCOUNT,
      amount: 1n,
    } as const;
    chain.trust([token]);
    if (nodes[0] !== undefined) {
      const good = { status: '0x1', gasUsed: '0x1', returnData: '0x' };
      const burnt = { status: '0x0', gasUsed: '0x493e0', returnData: '0x' };
      nodes[0].lie = (method) =>
        method === 'eth_simulateV1' ? result([{ calls: [good, burnt, good] }]) : undefined;
    }
    const [liar, honest] = chain.views();
    expect((await liar?.prove(settlement))?.status).toBe('halted');
    expect(liar?.isIsolated(token, ACCOUNT)).toBe(true);
    expect(honest?.isIsolated(token, ACCOUNT)).toBe(false);
  });
});

describe('a judgement by two, one of which answers heads and no calls', () => {
  const call = (view: ChainView) => view.call({ to: ACCOUNT, data: '0x' });
  let now: number;
  beforeEach(() => {
    now = 1_000_000;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each<[string, number, RpcOutcome]>([
    ['the second is silent', 1, SILENT],
    ['the first is silent', 0, SILENT],
    ['the second is asked too often', 1, failure('too many requests', -32_005)],
    ['the first is asked too often', 0, failure('too many requests', -32_005)],
    ['the second is asked too often, by HTTP', 1, { kind: 'silent', cause: 'rate_limited' }],
    ['the second answers with nothing', 1, result(null)],
  ])('is made by the other one after some seconds: %s', async (_, index, outcome) => {
    const truth = new FakeChain(20);
    const { chain, nodes } = await aChain(truth, 2);
    const mute = nodes[index];
    if (mute === undefined) throw new Error('two nodes');
    mute.lie = (method) => (method === 'eth_call' ? outcome : undefined);
    const verified = () =>
      chain.verifyByTwo(
        call,
        () => 'newest',
        ([value]) => {
          if (value === undefined) throw new Error('an outcome');
          return { value, hasDisagreement: false };
        },
      );
    const verifyFor = async (seconds: number): Promise<void> => {
      for (let half = 0; half < seconds * 2; half += 1) {
        await expect(verified()).rejects.toThrow(ChainUnavailableError);
        now += 500;
        truth.mine();
      }
    };
    await verifyFor(4);
    await verified().catch(() => undefined);
    expect((await verified()).value.status).toBe('returned');
    expect(chain.endpoints[index]?.refusals.proved).toEqual(['calls']);
    // It is asked on, and counts again from its first answer on.
    mute.lie = () => undefined;
    await verified();
    expect(chain.endpoints[index]?.refusals.proved).toEqual([]);
    mute.lie = (method) => (method === 'eth_call' ? outcome : undefined);
    await expect(verified()).rejects.toThrow(ChainUnavailableError);
  });

  it('is not made by one endpoint alone whose head stands still', async () => {
    const { chain, nodes } = await aChain(new FakeChain(20), 2);
    const [, second] = nodes;
    if (second === undefined) throw new Error('two nodes');
    second.lie = (method) => (method === 'eth_call' ? SILENT : undefined);
    for (let half = 0; half < 20; half += 1) {
      await expect(
        chain.verifyByTwo(
          call,
          () => 'newest',
          () => ({ value: { status: 'halted' as const }, hasDisagreement: false }),
        ),
      ).rejects.toThrow(ChainUnavailableError);
      now += 500;
    }
    expect(chain.endpoints[1]?.refusals.proved).toEqual([]);
  });
});

describe('an endpoint that was not asked, because too much waits', () => {
  const ask: [string, (view: ChainView) => Promise<unknown>][] = [
    ['for a block', (view) => view.block(5n)],
    ['for code', (view) => view.hasCode(ACCOUNT)],
    [
      'for the code of several accounts',
      (view) => Promise.all([view.hasCode(ACCOUNT), view.hasCode(PAYEE)]),
    ],
    ['for a tip', (view) => view.suggestedTip()],
    [
      'for the gas of a call',
      (view) => view.estimateGas({ from: ACCOUNT, to: PAYEE, data: '0x' }, 1_000_000n),
    ],
    ['to run a call', (view) => view.call({ to: PAYEE, data: '0x' })],
  ];

  it.each(ask)('has not failed: %s', async (_, question) => {
    const { chain, nodes } = await aChain(new FakeChain(10), 1);
    const [node] = nodes;
    const [view] = chain.views();
    if (node === undefined || view === undefined) throw new Error('a node');
    node.lie = () => ({ kind: 'silent', cause: 'not_sent' });
    await expect(question(view)).rejects.toMatchObject({ name: 'CallNotSentError' });
    expect(view.health).toMatchObject({ coolsUntil: 0, failingSince: undefined });
  });
});

describe('the count of transactions', () => {
  it('is believed of one block, as two endpoints say', async () => {
    const truth = new FakeChain(20);
    truth.nonces = (block) => (block >= 18 ? 7 : 5);
    const { chain, nodes } = await aChain(truth, 2);
    expect(await chain.transactionCount(ACCOUNT)).toMatchObject({
      latest: 7,
      pending: 7,
      finalized: 5,
    });
    const [liar] = nodes;
    if (liar === undefined) throw new Error('a node');
    liar.lie = (method) => (method === 'eth_getTransactionCount' ? result('0x64') : undefined);
    await expect(chain.transactionCount(ACCOUNT)).rejects.toThrow(EndpointsDisagreeError);
  });

  it('does not count what is in the pool of one node alone', async () => {
    const truth = new FakeChain(20);
    truth.nonces = () => 5;
    const { chain, nodes } = await aChain(truth, 2);
    if (nodes[0] !== undefined) {
      nodes[0].lie = (method, [, at]) =>
        method === 'eth_getTransactionCount' && at === 'pending' ? result('0x64') : undefined;
    }
    expect(await chain.transactionCount(ACCOUNT)).toMatchObject({ latest: 5, pending: 5 });
  });

  it('is known although it is in doubt what is final', async () => {
    const truth = new FakeChain(20);
    truth.nonces = () => 5;
    const { chain, nodes } = await aChain(truth, 1);
    if (nodes[0] !== undefined) {
      nodes[0].lie = (method, [name]) =>
        method === 'eth_getBlockByNumber' && name === 'finalized'
          ? result({ ...(truth.header(19) as object), number: '0x3b9aca00' })
          : undefined;
    }
    expect(await chain.transactionCount(ACCOUNT)).toMatchObject({
      latest: 5,
      finalized: undefined,
    });
  });

  it('never takes a missing number for nought', async () => {
    const { chain, nodes } = await aChain(new FakeChain(20), 1);
    if (nodes[0] !== undefined) {
      nodes[0].lie = (method) => (method === 'eth_getTransactionCount' ? result(null) : undefined);
    }
    await expect(chain.transactionCount(ACCOUNT)).rejects.toThrow(ChainUnavailableError);
  });
});

describe('the balance of a lane, asked of all endpoints', () => {
  it.each<[string, readonly (number | undefined | 'silent')[], bigint]>([
    ['one says nought', [0, undefined], 1000n],
    ['the other one says nought', [undefined, 0], 1000n],
    ['one of three says too much', [undefined, 9000, undefined], 1000n],
    ['both say nought', [0, 0], 0n],
    ['there is one', [0], 0n],
    ['one is silent', [undefined, 'silent'], 1000n],
  ])('%s', async (_, says, expected) => {
    const { chain, nodes } = await aChain(new FakeChain(5), says.length);
    nodes.forEach((node, index) => {
      const wei = says[index];
      node.lie = (method) => {
        if (method !== 'eth_getBalance' || wei === undefined) return undefined;
        return wei === 'silent' ? SILENT : result(`0x${wei.toString(16)}`);
      };
    });
    expect(await chain.balanceByAll(ACCOUNT)).toBe(expected);
  });

  it('is unknown without an answer', async () => {
    const { chain, nodes } = await aChain(new FakeChain(5), 2);
    for (const node of nodes) node.lie = () => SILENT;
    await expect(chain.balanceByAll(ACCOUNT)).rejects.toThrow(ChainUnavailableError);
  });
});

describe('an endpoint that hangs', () => {
  it('is joined by the next one', async () => {
    const { chain } = await aChain(new FakeChain(20), 2);
    const hung = new Promise<string>(() => undefined);
    const name = await chain.withView(({ health: { endpoint } }) =>
      endpoint.name === '56-0' ? hung : Promise.resolve(endpoint.name),
    );
    expect(name).toBe('56-1');
  });

  it('is asked last while it fails', async () => {
    const { chain, nodes } = await aChain(new FakeChain(20), 2);
    if (nodes[0] !== undefined) nodes[0].lie = () => failure();
    await chain.probe();
    expect(chain.views().map(({ health }) => health.endpoint.name)).toEqual(['56-1', '56-0']);
  });
});
