import { describe, expect, it, jest } from '@jest/globals';
import {
  type Address,
  encodeAbiParameters,
  encodeFunctionResult,
  type Hex,
  multicall3Abi,
} from 'viem';
import type { Call } from '../../protocol/evm/calls.js';
import type { Settlement } from '../../protocol/evm/chain-reader.js';
import { MULTICALL3 } from '../../protocol/evm/contracts.js';
import { CallRunner } from './call-runner.js';
import { type EndpointHealth, newEndpointHealth } from './endpoint-health.js';
import type { RpcEndpoint } from './rpc/rpc-endpoint.js';
import type { RpcOutcome } from './rpc/rpc-outcome.js';
import { IDENTITY_PRECOMPILE } from './simulation-support.js';

const TOKEN: Address = `0x${'11'.repeat(20)}`;
const PAYER: Address = `0x${'33'.repeat(20)}`;
const PAYEE: Address = `0x${'44'.repeat(20)}`;
const LANE: Address = `0x${'55'.repeat(20)}`;

const result = (value: unknown): RpcOutcome => ({ kind: 'result', value });
const error = (code: number, message = '', data?: unknown): RpcOutcome => ({
  kind: 'error',
  error: { code, message, data },
});
const SILENCE: RpcOutcome = { kind: 'silent', cause: 'timeout' };
const word = (value: bigint): Hex => encodeAbiParameters([{ type: 'uint256' }], [value]);

const SETTLEMENT: Settlement = {
  call: { to: TOKEN, data: '0xe3ee160e' },
  sender: { address: LANE, gasPriceWei: 5n, balanceWei: 10n ** 18n },
  gas: 300_000n,
  token: TOKEN,
  payer: PAYER,
  payTo: PAYEE,
  amount: 10n,
};

interface Asked {
  readonly method: string;
  readonly call: Readonly<Record<string, unknown>>;
  readonly params: readonly unknown[];
  readonly apart: string | undefined;
}

/** A node that answers what the test says. */
function aNode(answer: (asked: Asked) => RpcOutcome) {
  const asked: Asked[] = [];
  const endpoint = {
    request(method: string, params: readonly unknown[], _: number, apart?: { kind: string }) {
      const call = (params[0] ?? {}) as Asked['call'];
      const one = { method, call, params, apart: apart?.kind };
      asked.push(one);
      return Promise.resolve(answer(one));
    },
  } as unknown as RpcEndpoint;
  const health: EndpointHealth = newEndpointHealth(endpoint);
  const runner = new CallRunner({ chainId: 56, health, timeoutMs: 1000 });
  return { asked, health, conduct: health.contracts.conduct, runner };
}

const isControl = ({ call }: Asked): boolean => call['to'] === IDENTITY_PRECOMPILE;
const call = { to: TOKEN, data: '0x95d89b41' } as const;

describe('a call of foreign code', () => {
  it('has not failed on a node in trouble that fails it thrice, and not what is asked beside it', async () => {
    let failures = 3;
    const { runner, conduct } = aNode((asked) => {
      if (isControl(asked)) return result('0x');
      failures -= 1;
      return failures >= 0 ? error(-32_603, 'internal error') : result(word(1n));
    });
    expect(await runner.call(call, 50_000n, 'latest')).toMatchObject({ status: 'returned' });
    expect(conduct.trafficOf(TOKEN).kind).not.toBe('marked');
  });

  it.each<[string, RpcOutcome]>([
    ['geth', error(-32_000, 'invalid opcode: INVALID')],
    ['geth, out of gas', error(-32_000, 'out of gas')],
    ['revm', error(-32_603, 'EVM error InvalidFEOpcode')],
    ['nethermind', error(-32_015, 'VM execution error.', 'BadInstruction')],
    ['erigon', error(-32_000, 'stack underflow (0 <=> 1)')],
    ['in another language', error(-32_099, 'Berechnung abgebrochen')],
  ])('has failed when a call that cannot fail succeeds beside it: %s', async (_, failure) => {
    const { runner, health, conduct } = aNode((asked) =>
      isControl(asked) ? result('0x') : failure,
    );
    expect(await runner.call(call, 50_000n, 'latest')).toEqual({ status: 'halted' });
    expect(conduct.trafficOf(TOKEN).kind).toBe('marked');
    expect(health.coolsUntil).toBe(0);
  });

  it.each<[string, RpcOutcome]>([
    ['a header that is not there', error(-32_000, 'header not found')],
    ['a state that is not there', error(-32_000, 'missing trie node')],
    ['the same words as a revert', error(-32_603, 'execution reverted')],
  ])('says nothing when that one fails too: %s', async (_, failure) => {
    const { runner, conduct } = aNode(() => failure);
    await expect(runner.call(call, 50_000n, 'latest')).rejects.toThrow('no endpoint');
    expect(conduct.trafficOf(TOKEN).kind).toBe('new');
  });

  it.each<[string, RpcOutcome]>([
    ['an unknown method', error(-32_601)],
    ['a rate limit', error(-32_005, 'limit exceeded')],
    ['too many requests', error(429)],
  ])('is not run, and not asked twice: %s', async (_, failure) => {
    const { runner, asked } = aNode(() => failure);
    await expect(runner.call(call, 50_000n, 'latest')).rejects.toThrow('no endpoint');
    expect(asked).toHaveLength(1);
  });

  it('has what it returned the second time, when the first was a passing trouble', async () => {
    let count = 0;
    const { runner } = aNode((asked) => {
      if (isControl(asked)) return result('0x');
      count += 1;
      return count === 1 ? error(-32_603, 'busy') : result('0x01');
    });
    expect(await runner.call(call, 50_000n, 'latest')).toEqual({
      status: 'returned',
      data: '0x01',
    });
  });

  it('that has no answer while the node answers others is its own trouble, not the node’s', async () => {
    const { runner, health } = aNode((asked) => (isControl(asked) ? result('0x') : SILENCE));
    await expect(runner.call(call, 50_000n, 'latest')).rejects.toMatchObject({
      name: 'CodeUnresponsiveError',
    });
    expect(health.coolsUntil).toBe(0);
  });

  it.each(['connection', 'rate_limited', 'wrong_chain'] as const)(
    'is not at fault for a node that did not look at it: %s',
    async (cause) => {
      const { runner } = aNode((asked) =>
        isControl(asked) ? result('0x') : { kind: 'silent', cause },
      );
      await expect(runner.call(call, 50_000n, 'latest')).rejects.toMatchObject({
        name: 'ChainUnavailableError',
      });
    },
  );

  it('whose control runs is no proof that its node runs none, and one whose control hangs is', async () => {
    const refused: string[] = [];
    for (const canRun of [true, false]) {
      const { runner, health, conduct } = aNode((asked) =>
        canRun && isControl(asked) ? result('0x') : SILENCE,
      );
      conduct.trust([TOKEN]);
      jest.spyOn(health.refusals, 'refused').mockImplementation(() => refused.push(String(canRun)));
      await expect(runner.call(call, 50_000n, 'latest')).rejects.toThrow('no endpoint');
      await Promise.resolve();
    }
    expect(refused).toEqual(['false']);
  });

  it('is asked without `eth_simulateV1` where a node does not answer that any more', async () => {
    let isProbed = false;
    const { runner, conduct, asked } = aNode((one) => {
      if (one.method !== 'eth_simulateV1') return result(word(1n));
      const answer = isProbed ? SILENCE : result([]);
      isProbed = true;
      return answer;
    });
    conduct.trust([TOKEN]);
    await expect(runner.prove(SETTLEMENT)).rejects.toThrow('no endpoint');
    expect(await runner.prove(SETTLEMENT)).toMatchObject({ status: 'paid' });
    expect(asked.at(-1)?.method).toBe('eth_call');
  });

  it('that got no turn in the isolated queue says nothing about its code', async () => {
    const notSent: RpcOutcome = { kind: 'silent', cause: 'not_sent' };
    const { runner, health } = aNode((asked) => (isControl(asked) ? result('0x') : notSent));
    const name = 'CallNotSentError';
    await expect(runner.call(call, 50_000n, 'latest')).rejects.toMatchObject({ name });
    await expect(runner.simulate(SETTLEMENT)).rejects.toMatchObject({ name });
    await expect(runner.prove(SETTLEMENT)).rejects.toMatchObject({ name });
    expect(health.coolsUntil).toBe(0);
  });

  it('never runs without a gas limit, and from its sender at its price', async () => {
    const { runner, asked } = aNode(() => result('0x'));
    await runner.call(call, 50_000n, 'latest', SETTLEMENT.sender);
    expect(asked[0]?.call).toEqual({ ...call, from: LANE, gasPrice: '0x5', gas: '0xc350' });
    expect(asked[0]?.params).toHaveLength(2);
  });

  it('is made for a sender that is too poor as if it were not', async () => {
    const { runner, asked } = aNode(() => result('0x'));
    await runner.call(call, 50_000n, 'latest', { address: LANE, gasPriceWei: 5n, balanceWei: 1n });
    expect(asked[0]?.params[2]).toEqual({ [LANE]: { balance: '0x2625a0' } });
  });
});

describe('a call that an account has chosen', () => {
  const chosen = { from: PAYER, to: MULTICALL3, data: '0x82ad56cb' } as const;

  it('waits with the others of that account, by trusted code too', async () => {
    const { runner, asked } = aNode(({ method }) =>
      result(method === 'eth_estimateGas' ? '0x5208' : '0x01'),
    );
    const outcome = await runner.callChosenBy(PAYER, chosen, 1_000_000n);
    expect(outcome).toMatchObject({ status: 'returned' });
    expect(await runner.estimateGas({ ...chosen, value: 7n }, 1_000_000n)).toBe(21_000n);
    expect(asked.map(({ method, apart }) => [method, apart])).toEqual([
      ['eth_call', 'new'],
      ['eth_estimateGas', 'new'],
    ]);
    const { to, data } = chosen;
    expect(asked.map(({ call: sent }) => sent)).toEqual([
      { to, data, gas: '0xf4240' },
      { from: PAYER, to, data, gas: '0xf4240', value: '0x7' },
    ]);
  });

  it('is held against no contract, and no node, where it burns its gas or its time', async () => {
    for (const answer of [error(-32_000, 'out of gas'), SILENCE]) {
      const { runner, conduct, health } = aNode((asked) =>
        isControl(asked) ? result('0x') : answer,
      );
      const to = { to: TOKEN, data: '0x' } as const;
      await runner.callChosenBy(PAYER, to, 1_000_000n).catch(() => undefined);
      const estimated = runner.estimateGas({ ...to, from: PAYER }, 1_000_000n);
      await expect(estimated).rejects.toThrow('no endpoint');
      expect(conduct.trafficOf(TOKEN, PAYER).kind).toBe('new');
      expect(health.coolsUntil).toBe(0);
    }
  });
});

/** A node with `eth_simulateV1`. */
const simulating = (calls: readonly object[]) =>
  aNode(({ method }) =>
    method === 'eth_simulateV1' ? result([{ calls }]) : error(-32_601, 'not this one'),
  );
const done = (returnData: Hex, gasUsed = 30_000) => ({
  status: '0x1',
  gasUsed: `0x${gasUsed.toString(16)}`,
  returnData,
});
const failed = (gasUsed: number, more: object = {}) => ({
  status: '0x0',
  gasUsed: `0x${gasUsed.toString(16)}`,
  returnData: '0x',
  ...more,
});

describe('a simulated settlement', () => {
  it('pays when the balance of the payee grows by the amount', async () => {
    const { runner, asked, conduct } = simulating([done(word(1n)), done('0x'), done(word(11n))]);
    expect(await runner.simulate(SETTLEMENT)).toEqual({ status: 'paid', gasUsed: 30_000n });
    expect(conduct.trafficOf(TOKEN).kind).toBe('open');
    const { blockStateCalls } = asked.at(-1)?.call as {
      blockStateCalls: [{ calls: readonly object[] }];
    };
    expect(blockStateCalls[0].calls[1]).toEqual({
      to: TOKEN,
      data: '0xe3ee160e',
      from: LANE,
      gasPrice: '0x5',
      gas: '0x493e0',
    });
  });

  it.each<[string, readonly object[]]>([
    ['does nothing', [done(word(1n)), done('0x'), done(word(1n))]],
    ['moves less', [done(word(1n)), done('0x'), done(word(10n))]],
    ['does not tell its balances', [done('0x'), done('0x'), done('0x')]],
    ['wraps around', [done(word(2n ** 256n - 1n)), done('0x'), done(word(9n))]],
  ])('does not when the token %s', async (_, calls) => {
    expect(await simulating(calls).runner.simulate(SETTLEMENT)).toEqual({ status: 'unpaid' });
  });

  it('too long for the pool of a node would not be taken, and is not asked about', async () => {
    const { runner, asked } = aNode(() => result('0x'));
    const sized = (bytes: number): Settlement => ({
      ...SETTLEMENT,
      call: { to: TOKEN, data: `0x${'00'.repeat(bytes)}` },
    });
    for (const work of ['simulate', 'prove'] as const) {
      expect(await runner[work](sized(131_072))).toEqual({ status: 'halted' });
    }
    expect(asked).toEqual([]);
    await runner.prove(sized(100_000)).catch(() => undefined);
    expect(asked).not.toEqual([]);
  });

  describe('that a node refuses to simulate as a whole', () => {
    const SUPPORTED = result([{ calls: [] }]);
    /** A node that refuses any simulation but its probe; `runs` says what it answers to a call alone. */
    const refusing = (runs: (to: unknown) => RpcOutcome) => {
      let isProbed = false;
      return aNode((asked) => {
        if (asked.method === 'eth_simulateV1') {
          const answer = isProbed ? error(-38_013, 'intrinsic gas too low') : SUPPORTED;
          isProbed = true;
          return answer;
        }
        return isControl(asked) ? result('0x') : runs(asked.call['to']);
      });
    };
    const tooLow = error(-32_000, 'intrinsic gas too low: have 300000, want 517000');
    const first = { call: { to: PAYER, data: '0x095ea7b3' }, from: PAYER, gas: 21_000n } as const;
    const after = ({ runner }: ReturnType<typeof refusing>) =>
      runner.simulateAfter(first, SETTLEMENT);

    it('fails by itself, and its node has not failed', async () => {
      const { runner, health } = refusing(() => tooLow);
      expect(await runner.prove(SETTLEMENT)).toEqual({ status: 'halted' });
      expect(health.coolsUntil).toBe(0);
    });

    it('says nothing where the call alone is run', async () => {
      const { runner } = refusing(() => result('0x'));
      await expect(runner.prove(SETTLEMENT)).rejects.toThrow('no endpoint');
    });

    it('fails by the call before it, or by itself', async () => {
      const byFirst = refusing((to) => (to === PAYER ? tooLow : result('0x')));
      expect(await after(byFirst)).toEqual({ status: 'first_failed' });
      const bySecond = refusing((to) => (to === PAYER ? result('0x') : tooLow));
      expect(await after(bySecond)).toEqual({ status: 'halted' });
      expect([byFirst, bySecond].map(({ health }) => health.coolsUntil)).toEqual([0, 0]);
    });

    it('says nothing where each of both calls is run, or would be after the first', async () => {
      for (const second of [result('0x'), error(3, 'execution reverted', '0x12')]) {
        const node = refusing((to) => (to === PAYER ? result('0x') : second));
        await expect(after(node)).rejects.toThrow('no endpoint');
      }
    });
  });

  it('of a payer that pays itself moves nothing', async () => {
    const { runner } = simulating([done(word(1n)), done('0x'), done(word(1n))]);
    const effect = await runner.simulate({ ...SETTLEMENT, payTo: PAYER });
    expect(effect.status).toBe('paid');
  });

  it.each<[string, object, object, string]>([
    ['geth', failed(40_000, { error: { code: 3, data: '0x12' } }), { data: '0x12' }, 'new'],
    ['anvil', failed(40_000, { returnData: '0x12' }), { data: '0x12' }, 'new'],
    ['no data', failed(40_000), { status: 'reverted' }, 'new'],
    ['nothing left', failed(300_000), { status: 'halted' }, 'marked'],
    ['nothing left below another contract', failed(296_000), { status: 'halted' }, 'marked'],
  ])("that fails has the token's own error: %s", async (_, transfer, effect, kind) => {
    const { runner, conduct } = simulating([done(word(1n)), transfer, done(word(1n))]);
    expect(await runner.simulate(SETTLEMENT)).toMatchObject(effect);
    expect(conduct.trafficOf(TOKEN).kind).toBe(kind);
  });

  it('marks a token that answers at great length', async () => {
    const long: Hex = `0x${'00'.repeat(20_000)}`;
    const { runner, conduct } = simulating([done(long), done('0x'), done(long)]);
    await runner.simulate(SETTLEMENT);
    expect(conduct.trafficOf(TOKEN).kind).toBe('marked');
  });

  describe('on a node without eth_simulateV1', () => {
    const aggregated = (...balances: readonly [bigint, bigint]): Hex =>
      encodeFunctionResult({
        abi: multicall3Abi,
        functionName: 'aggregate3',
        result: [word(balances[0]), '0x' as const, word(balances[1])].map((returnData) => ({
          success: true,
          returnData,
        })),
      });
    const without = (direct: RpcOutcome, watched: RpcOutcome) =>
      aNode(({ method, call: { to } }) => {
        if (method === 'eth_simulateV1') return error(-32_601);
        return to === MULTICALL3 ? watched : direct;
      });

    it('pays when the transaction succeeds, and the balance grows where it is watched', async () => {
      const { runner } = without(result('0x'), result(aggregated(1n, 11n)));
      expect((await runner.simulate(SETTLEMENT)).status).toBe('paid');
    });

    it('does not when either says otherwise', async () => {
      const idle = without(result('0x'), result(aggregated(1n, 1n)));
      expect(await idle.runner.simulate(SETTLEMENT)).toEqual({ status: 'unpaid' });
      const refusing = without(error(3, 'no', '0x12'), result(aggregated(1n, 11n)));
      expect(await refusing.runner.simulate(SETTLEMENT)).toMatchObject({ status: 'reverted' });
    });

    it('watches what only the lane may send at the address of the lane', async () => {
      const bound = { ...SETTLEMENT, isSenderBound: true };
      const answers = (balance: bigint) =>
        aNode(({ method, call: { to } }) => {
          if (method === 'eth_simulateV1') return error(-32_601);
          if (method === 'eth_getCode') return result('0xc0de');
          return to === LANE ? result(aggregated(1n, balance)) : result('0x');
        });
      const { runner, asked } = answers(11n);
      expect((await runner.simulate(bound)).status).toBe('paid');
      const watched = asked.find(({ call: { to } }) => to === LANE);
      expect(watched?.params[2]).toEqual({ [LANE]: { code: '0xc0de' } });
      expect(asked.some(({ call: { to } }) => to === MULTICALL3)).toBe(false);
      expect(await answers(10n).runner.simulate(bound)).toEqual({ status: 'unpaid' });
    });

    it('believes the transaction alone on a chain without Multicall3', async () => {
      const { runner } = without(result('0x'), result('0x'));
      expect((await runner.simulate(SETTLEMENT)).status).toBe('paid');
    });
  });

  it('of a wallet that it deploys is isolated, by trusted code too, and is the bare call', async () => {
    const { runner, asked, conduct } = aNode(() => result('0x'));
    conduct.trust([TOKEN]);
    const made = { ...SETTLEMENT, call: { to: MULTICALL3, data: '0x82ad56cb', deploys: PAYER } };
    await runner.simulate(made as Settlement);
    await runner.call(made.call as Call, 50_000n, 'latest');
    expect(asked.map(({ apart }) => apart)).toEqual(['new', 'new']);
    expect(asked.map(({ call: sent }) => Object.keys(sent).sort())).toEqual([
      ['data', 'from', 'gas', 'gasPrice', 'to'],
      ['data', 'gas', 'to'],
    ]);
  });

  it('of a wallet that it makes is sent to eth_simulateV1 as the bare call', async () => {
    const { runner, asked } = simulating([done(word(1n)), done('0x'), done(word(11n))]);
    await runner.simulate({ ...SETTLEMENT, call: { ...SETTLEMENT.call, deploys: PAYER } });
    expect(asked.at(-1)?.apart).toBe('new');
    expect(JSON.stringify(asked.at(-1)?.params)).not.toContain('deploys');
  });

  it('that burns its gas marks the wallet it makes, where the token is trusted', async () => {
    const { runner, conduct } = aNode((asked) =>
      isControl(asked) ? result('0x') : error(-32_000, 'out of gas'),
    );
    const burning: Call = { to: MULTICALL3, data: '0x82ad56cb', deploys: PAYER };
    expect(await runner.call(burning, 50_000n, 'latest')).toEqual({ status: 'halted' });
    expect(conduct.trafficOf(MULTICALL3).kind).toBe('open');
    expect(conduct.trafficOf(MULTICALL3, PAYER).kind).toBe('marked');
  });

  it.each<[string, bigint, 'open' | 'marked']>([
    ['does not when its limit was no more than a good transfer takes', 87_693n, 'open'],
    ['does when it was given all that one may cost', 300_000n, 'marked'],
  ])('of trusted code that runs out of gas marks the payer: %s', async (_, gas, kind) => {
    const { runner, conduct } = aNode((asked) =>
      isControl(asked) ? result('0x') : error(-32_603, 'EVM error OutOfGas'),
    );
    conduct.trust([TOKEN]);
    expect(await runner.simulate({ ...SETTLEMENT, gas })).toEqual({ status: 'halted' });
    expect(conduct.trafficOf(TOKEN, PAYER).kind).toBe(kind);
  });

  it('of trusted code is one call', async () => {
    const { runner, asked, conduct } = aNode(() => result('0x'));
    conduct.trust([TOKEN]);
    expect(await runner.simulate(SETTLEMENT)).toEqual({ status: 'paid', gasUsed: undefined });
    expect(asked.map(({ method, apart }) => [method, apart])).toEqual([['eth_call', undefined]]);
  });
});

describe('settlements of trusted code that are looked at together', () => {
  const isJoint = ({ method, call }: Asked): boolean => method === 'eth_call' && !('to' in call);
  const both = (node: ReturnType<typeof aNode>, more: Partial<Settlement>) =>
    Promise.all([0, 1].map(() => node.runner.simulate({ ...SETTLEMENT, ...more })));
  const aTrustingNode = (joint: RpcOutcome) => {
    const node = aNode((asked) => (isJoint(asked) ? joint : result('0x')));
    node.conduct.trust([TOKEN]);
    return node;
  };

  it('are one call, and paid where they return', async () => {
    const node = aTrustingNode(result('0x010101'));
    const effects = await both(node, { mayJoin: true });
    expect(effects.map(({ status }) => status)).toEqual(['paid', 'paid']);
    expect(node.asked.map(isJoint)).toEqual([true]);
  });

  it('are asked alone where they do not', async () => {
    const node = aTrustingNode(result('0x010001'));
    const effects = await both(node, { mayJoin: true });
    expect(effects.map(({ status }) => status)).toEqual(['paid', 'paid']);
    expect(node.asked.map(isJoint)).toEqual([true, false]);
  });

  it('have no answer where the node has none', async () => {
    const node = aTrustingNode({ kind: 'silent', cause: 'connection' });
    await expect(both(node, { mayJoin: true })).rejects.toThrow('no endpoint');
  });

  it('say nothing about a node that was not asked', async () => {
    const node = aTrustingNode({ kind: 'silent', cause: 'not_sent' });
    const refused = jest.spyOn(node.health.refusals, 'refused');
    await expect(both(node, { mayJoin: true })).rejects.toMatchObject({ name: 'CallNotSentError' });
    expect(node.asked.map(isJoint)).toEqual([true]);
    expect(refused).not.toHaveBeenCalled();
    expect(node.health).toMatchObject({ coolsUntil: 0, failingSince: undefined });
  });

  it.each<[string, Partial<Settlement>]>([
    ['at the last look, which is at what will be sent', {}],
    ['where only the lane may send it', { mayJoin: true, isSenderBound: true }],
  ])('are asked alone %s', async (_, more) => {
    const node = aTrustingNode(result('0x010101'));
    await both(node, more);
    expect(node.asked.map(({ call }) => call['to'])).toEqual([TOKEN, TOKEN]);
  });

  it('are asked alone where a transaction with so little gas would not be taken', async () => {
    const node = aTrustingNode(result('0x010101'));
    const call = { to: TOKEN, data: `0x${'ab'.repeat(4500)}` } as const;
    // 21 000 and 40 for each byte (EIP-7623).
    await both(node, { mayJoin: true, call, gas: 200_999n });
    expect(node.asked.some(isJoint)).toBe(false);
    await both(node, { mayJoin: true, call, gas: 201_000n });
    expect(node.asked.some(isJoint)).toBe(true);
  });

  it('are held against the account whose code they run, where that is not the payer’s', async () => {
    const authorizer: Address = `0x${'77'.repeat(20)}`;
    const node = aNode((asked) => (isControl(asked) ? result('0x') : error(-32_000, 'out of gas')));
    node.conduct.trust([TOKEN, PAYER]);
    const burning = { ...SETTLEMENT, gas: 300_000n, runsCodeOf: authorizer };
    expect(await node.runner.simulate(burning)).toEqual({ status: 'halted' });
    expect(node.conduct.trafficOf(TOKEN, authorizer).kind).toBe('marked');
    expect(node.conduct.trafficOf(TOKEN, PAYER).kind).toBe('open');
    await node.runner.simulate({ ...burning, mayJoin: true });
    expect(node.asked.some(isJoint)).toBe(false);
  });

  it('are asked alone where the code is not trusted, or a payer has burnt gas', async () => {
    const node = aTrustingNode(result('0x010101'));
    node.conduct.noteBurn(TOKEN, PAYER);
    await both(node, { mayJoin: true });
    expect(node.asked.some(isJoint)).toBe(false);
  });
});
