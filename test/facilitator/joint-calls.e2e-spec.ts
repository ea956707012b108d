import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { CountingProxy } from '../../bench/support/counting-proxy.js';
import type { Service } from '../../sandbox/service.js';
import { type Answer, post } from '../support/http.js';
import {
  type Body,
  eip3009Body,
  newAccount,
  newNonce,
  type PaymentOptions,
  permit2Body,
} from '../support/payments.js';
import { World } from '../support/world.js';

/** Runs until its gas is gone. */
const GAS_BURNER = '0x5b600056';
const AT_ONCE = 96;

/** Payments verified at once get the answers that each gets alone, and cost the node less. */
describe('payments that are verified at once', () => {
  let world: World;
  let service: Service;
  let node: CountingProxy;
  let rich: PrivateKeyAccount;

  beforeAll(async () => {
    world = await World.start();
    node = await CountingProxy.start(world.anvil.url);
    rich = await world.payer();
    service = await world.service({ [`RPC_URLS_${world.chainId}`]: node.url });
  });
  afterAll(async () => {
    await world.stop();
    await node.stop();
  });

  const paying = (
    payer: PrivateKeyAccount,
    payTo: Address,
    more: Partial<PaymentOptions> = {},
  ): Promise<Body> =>
    eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo, ...more });
  const verify = (body: Body): Promise<Answer> => post(`${service.url}/verify`, body);
  const answerOf = ({ body }: Answer): unknown => body['invalidReason'] ?? body['isValid'];
  const goodOnes = (count = AT_ONCE): Promise<Body[]> =>
    Promise.all(Array.from({ length: count }, () => paying(rich, newAccount().address)));

  /** The answers at once, and the contract calls they took. */
  async function atOnce(bodies: readonly Body[]): Promise<{
    readonly reported: readonly unknown[];
    readonly calls: number;
    readonly looks: number;
  }> {
    node.take();
    const answers = await Promise.all(bodies.map(verify));
    const { calls } = node.take();
    return {
      reported: answers.map(answerOf),
      calls: calls['eth_call'] ?? 0,
      looks: calls['eth_getCode'] ?? 0,
    };
  }
  async function alone(bodies: readonly Body[]): Promise<readonly unknown[]> {
    const reported: unknown[] = [];
    for (const body of bodies) reported.push(answerOf(await verify(body)));
    return reported;
  }

  it('share the calls of the node', async () => {
    const bodies = await goodOnes();
    // Connections that are open already bring them in together.
    await atOnce(await goodOnes());
    const { reported, calls, looks } = await atOnce(bodies);
    expect(reported).toEqual(bodies.map(() => true));
    // How many come in together is for the machine to say; alone each takes one of both at least.
    expect(calls).toBeLessThan(AT_ONCE);
    expect(looks).toBeLessThan(AT_ONCE);
  });

  it('share them by Permit2 too', async () => {
    const payTo = newAccount().address;
    const payer = await world.payer({ approves: true });
    const terms = { chainId: world.chainId, token: world.coin, payTo };
    const bodies = await Promise.all(
      Array.from({ length: 8 }, () => permit2Body({ payer, ...terms })),
    );
    expect((await atOnce(bodies)).reported).toEqual(bodies.map(() => true));
  });

  it('one does not see what another would change', async () => {
    const poor = newAccount();
    // A payer without balance cannot pay with coins that another payment only promises.
    const promised = await paying(rich, poor.address, { amount: 1000n });
    const unfounded = await paying(poor, newAccount().address, { amount: 1000n });
    const others = await goodOnes();
    const bodies = [promised, unfounded, ...others, promised, unfounded];
    const { reported } = await atOnce(bodies);
    const expected = await alone(bodies);
    expect(reported).toEqual(expected);
    expect(expected[1]).toBe('invalid_exact_evm_insufficient_balance');
    expect(expected.filter((one) => one === true)).toHaveLength(others.length + 2);
  });

  it('two that the money of one payer suffices for by themselves are both good', async () => {
    const payer = await world.payer({ balance: 1500n });
    const payTo = newAccount().address;
    const both = await Promise.all(
      [newNonce(), newNonce()].map((nonce) => paying(payer, payTo, { nonce, amount: 1000n })),
    );
    expect((await atOnce([...both, ...(await goodOnes(4))])).reported.slice(0, 2)).toEqual([
      true,
      true,
    ]);
  });

  it('are refused as they are alone, each for its own fault', async () => {
    const payer = await world.payer({ balance: 5n });
    const dear = await paying(payer, newAccount().address, { amount: 1000n });
    const late = await paying(rich, newAccount().address, { validFor: -1000 });
    const [stolen, other] = [
      await paying(rich, newAccount().address),
      await paying(rich, newAccount().address),
    ];
    const bodies = [
      dear,
      late,
      { ...stolen, paymentRequirements: other.paymentRequirements },
      ...(await goodOnes()),
    ];
    const { reported } = await atOnce(bodies);
    expect(reported).toEqual(await alone(bodies));
    expect(reported.slice(0, 3)).not.toContain(true);
  });

  it('are not harmed by payers whose wallets burn all the gas they get', async () => {
    const burners = Array.from({ length: 8 }, () => newAccount());
    for (const { address } of burners) {
      await world.fund(address, 10n ** 6n);
      await world.client.setCode({ address, bytecode: GAS_BURNER });
    }
    const bad = await Promise.all(burners.map((payer) => paying(payer, newAccount().address)));
    const honest = await goodOnes();
    const bodies = honest.flatMap((one, index) => (bad[index] ? [bad[index], one] : [one]));
    const { reported } = await atOnce(bodies);
    const said = new Map(bodies.map((body, index) => [body, reported[index]]));
    expect(honest.map((body) => said.get(body))).toEqual(honest.map(() => true));
    expect(bad.map((body) => said.get(body)).filter((one) => one === true)).toEqual([]);
  });
});
