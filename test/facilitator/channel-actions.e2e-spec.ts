import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  type Hex,
  keccak256,
  numberToHex,
  parseAbiParameters,
  parseGwei,
  zeroAddress,
} from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { BATCH_SETTLEMENT, sendNow } from '../../sandbox/deploy.js';
import { freePort } from '../../sandbox/processes.js';
import type { Service } from '../../sandbox/service.js';
import { claimBody, depositBody, sellerRefundBody, settleBody } from '../support/channel-bodies.js';
import {
  type ChannelConfig,
  Channels,
  type Claim,
  eip3009Deposit,
  ESCROW_ABI,
  permit2Deposit,
} from '../support/channels.js';
import {
  type Body,
  eip3009Body,
  type Json,
  newAccount,
  newNonce,
  nowSeconds,
} from '../support/payments.js';
import { presentationData } from '../support/token-calls.js';
import { World } from '../support/world.js';

const ACTIONS = ['deposit', 'claim', 'settle', 'refund'] as const;
type ActionName = (typeof ACTIONS)[number];

/** The code of a wallet that takes any signature (ERC-1271): it returns the magic value. */
const ANY_SIGNATURE: Hex = '0x631626ba7e60e01b5f5260205ff3';

/** Each action of a channel while processes die and strangers copy what they see: the answer stays true. */
describe('actions of a channel', () => {
  let world: World;
  let service: Service;
  let port: number;
  let channels: Channels;
  let payer: PrivateKeyAccount;
  let stranger: PrivateKeyAccount;

  beforeAll(async () => {
    world = await World.start();
    port = await freePort();
    service = await world.service({ SETTLE_WAIT_MS: '4000' }, port);
    channels = new Channels(world.chainId);
    payer = await world.payer();
    stranger = newAccount();
    await world.client.setBalance({ address: stranger.address, value: 10n ** 20n });
  });
  afterAll(() => world.stop());

  async function settle(body: Body): Promise<Json> {
    const response = await fetch(`${service.url}/settle`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await response.json()) as Json;
  }

  /** As a seller repeats a request whose answer was lost. */
  async function untilDone(body: Body): Promise<Json> {
    for (let times = 0; times < 40; times += 1) {
      const answer = await settle(body).catch((): Json => ({ errorReason: 'settlement_pending' }));
      const isOpen = ['settlement_pending', 'network_unavailable', 'settlement_not_sent'].includes(
        String(answer['errorReason']),
      );
      if (!isOpen) return answer;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    throw new Error('it was never done');
  }

  interface Play {
    readonly config: ChannelConfig;
    /** Of the receiver. */
    readonly authorizer: PrivateKeyAccount;
    readonly bodies: Readonly<Record<ActionName, () => Promise<Body>>> & {
      readonly refund: (amount?: bigint) => Promise<Body>;
    };
    /** Balance, claimed, paid to the receiver, next refund. */
    readonly stands: () => Promise<readonly bigint[]>;
  }

  function aChannel(): Play {
    const [receiver, authorizer] = [newAccount(), newAccount()];
    const config: ChannelConfig = {
      payer: payer.address,
      payerAuthorizer: payer.address,
      receiver: receiver.address,
      receiverAuthorizer: authorizer.address,
      token: getAddress(world.usd),
      withdrawDelay: 900,
      salt: newNonce(),
    };
    const read = { address: BATCH_SETTLEMENT, abi: ESCROW_ABI } as const;
    const id = channels.idOf(config);
    const stands = async () => {
      const [balance, claimed] = await world.client.readContract({
        ...read,
        functionName: 'channels',
        args: [id],
      });
      const nonce = await world.client.readContract({
        ...read,
        functionName: 'refundNonce',
        args: [id],
      });
      return [balance, claimed, await world.balance(world.usd, receiver.address), nonce];
    };
    const bodies = {
      deposit: () => depositBody({ channels, payer, config }),
      claim: async () =>
        claimBody(channels, authorizer, [await channels.claim(payer, config, 300n)]),
      settle: () => Promise.resolve(settleBody(channels, receiver.address, world.usd)),
      refund: (amount = 200n) =>
        sellerRefundBody({ channels, signer: payer, authorizer, config, amount }),
    };
    return { config, authorizer, bodies, stands };
  }

  const STANDINGS: Readonly<Record<ActionName, readonly bigint[]>> = {
    deposit: [1000n, 0n, 0n, 0n],
    claim: [1000n, 300n, 0n, 0n],
    settle: [1000n, 300n, 300n, 0n],
    refund: [800n, 300n, 300n, 1n],
  };
  const TOLD: Readonly<Record<ActionName, Json>> = {
    deposit: { amount: '1000', extra: { channelState: { balance: '1000', refundNonce: '0' } } },
    claim: {},
    settle: { amount: '300' },
    refund: { amount: '200', extra: { channelState: { balance: '800', refundNonce: '1' } } },
  };

  async function pendingCall(): Promise<{ to: Hex; data: Hex }> {
    for (let times = 0; times < 200; times += 1) {
      const { transactions } = await world.client.getBlock({
        blockTag: 'pending',
        includeTransactions: true,
      });
      const [sent] = transactions;
      if (sent?.to != null) return { to: sent.to, data: sent.input };
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error('nothing was sent');
  }

  it.each([10, 60])(
    'are done once where the process is killed %i ms after each was asked for',
    async (ms) => {
      const { bodies, stands } = aChannel();
      for (const action of ACTIONS) {
        const body = await bodies[action]();
        const lost = settle(body).catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, ms));
        await service.stop('SIGKILL');
        await lost;
        service = await world.service({ SETTLE_WAIT_MS: '4000' }, port);
        expect(await untilDone(body)).toMatchObject({ success: true, ...TOLD[action] });
        expect(await stands()).toEqual(STANDINGS[action]);
      }
    },
  );

  it('are done once where the process is killed with its transaction in the pool', async () => {
    const { bodies, stands } = aChannel();
    for (const action of ACTIONS) {
      const body = await bodies[action]();
      await world.client.setAutomine(false);
      const lost = settle(body).catch(() => undefined);
      await pendingCall();
      await service.stop('SIGKILL');
      await lost;
      await world.client.setAutomine(true);
      await world.client.mine({ blocks: 1 });
      service = await world.service({ SETTLE_WAIT_MS: '4000' }, port);
      const done = await untilDone(body);
      expect(done).toMatchObject({ success: true, ...TOLD[action] });
      expect(done['transaction']).toMatch(/^0x/);
      expect(await stands()).toEqual(STANDINGS[action]);
    }
  });

  /** Everything in Redis is gone, and the process lives. */
  async function loseLedger(): Promise<void> {
    const redis = new Redis(world.redis.url);
    await redis.flushall();
    redis.disconnect();
  }

  /** Those without a sale. */
  const REPEATABLE = ['claim', 'settle', 'refund'] as const;

  it('stay done where the ledger is lost and their lane stores them again', async () => {
    const { bodies, stands } = aChannel();
    await untilDone(await bodies.deposit());
    const restores = () => service.log().split('stored its sent transactions again').length;
    for (const action of REPEATABLE) {
      const body = await bodies[action]();
      const before = restores();
      await world.client.setAutomine(false);
      const answering = settle(body);
      await pendingCall();
      await loseLedger();
      await world.client.mine({ blocks: 1 });
      await world.client.setAutomine(true);
      for (let times = 0; times < 200 && restores() === before; times += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(restores()).toBe(before + 1);
      const done = await untilDone(body);
      expect(done).toMatchObject({ success: true, ...TOLD[action] });
      expect(done['transaction']).toMatch(/^0x/);
      await answering;
      // A block that is deep enough is final.
      await world.client.mine({ blocks: 30 });
      expect(await untilDone(body)).toMatchObject({
        success: true,
        ...TOLD[action],
        transaction: done['transaction'],
      });
      expect(await stands()).toEqual(STANDINGS[action]);
    }
    // Another refund with the same nonce is another one, and the ledger knows which was done.
    const other = await bodies.refund(100n);
    expect(await untilDone(other)).toMatchObject({
      success: false,
      errorReason: 'invalid_batch_settlement_evm_refund_simulation_failed',
    });
  });

  it('stay done where the ledger is lost after them, and a deposit is refused as used', async () => {
    const { bodies, stands } = aChannel();
    const told: [Body, Json][] = [];
    for (const action of ACTIONS) {
      const body = await bodies[action]();
      told.push([body, await untilDone(body)]);
    }
    // A block that is deep enough is final: no lane follows them any longer.
    await world.client.mine({ blocks: 30 });
    for (const [, { extra }] of told) {
      const { settlementId } = extra as { settlementId: string };
      const place = `${service.url}/v2/settlements/${settlementId}?wait=20`;
      let state: unknown;
      for (let times = 0; times < 40 && state !== 'finalized'; times += 1) {
        ({ state } = (await (await fetch(place)).json()) as Json);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      expect(state).toBe('finalized');
    }
    await loseLedger();
    const [[deposit, paid], ...others] = told as [[Body, Json], ...[Body, Json][]];
    expect(await untilDone(deposit)).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
      transaction: paid['transaction'],
    });
    for (const [index, [body, done]] of others.entries()) {
      const action = REPEATABLE[index] ?? 'claim';
      // Claims leave no trace that names them.
      const transaction = action === 'claim' ? '' : done['transaction'];
      expect(await untilDone(body)).toMatchObject({ success: true, ...TOLD[action], transaction });
    }
    expect(await stands()).toEqual(STANDINGS.refund);
  });

  it.each([
    ['as it is', (data: Hex) => data],
    [
      'within a call of the escrow that runs several',
      (data: Hex) =>
        encodeFunctionData({ abi: ESCROW_ABI, functionName: 'multicall', args: [[data]] }),
    ],
  ])('are done where a stranger copies each %s, and is faster', async (_, wrap) => {
    const { bodies, stands } = aChannel();
    for (const action of ACTIONS) {
      const body = await bodies[action]();
      await world.client.setAutomine(false);
      const answering = settle(body);
      const { to, data } = await pendingCall();
      const copied = await world.client.sendTransaction({
        account: stranger,
        chain: null,
        to,
        data: wrap(data),
        gas: 1_000_000n,
        maxFeePerGas: parseGwei('100'),
        maxPriorityFeePerGas: parseGwei('90'),
      });
      await world.client.mine({ blocks: 1 });
      await world.client.setAutomine(true);
      // A block that is deep enough is final.
      await world.client.mine({ blocks: 30 });
      const { status } = await world.client.getTransactionReceipt({ hash: copied });
      expect(status).toBe('success');
      const first = await answering;
      const answer = first['success'] === true ? first : await untilDone(body);
      expect(answer).toMatchObject({ success: true, ...TOLD[action] });
      expect(await stands()).toEqual(STANDINGS[action]);
    }
  });

  it('tell of a refund that paid nothing, as all was claimed just before it', async () => {
    const { config, authorizer, bodies, stands } = aChannel();
    await untilDone(await bodies.deposit());
    const rows = [await channels.claim(payer, config, 1000n)];
    const signed = await authorizer.signTypedData(channels.claimBatch(rows));
    const body = await bodies.refund();
    await world.client.setAutomine(false);
    const answering = settle(body);
    await pendingCall();
    await world.client.sendTransaction({
      account: stranger,
      chain: null,
      to: BATCH_SETTLEMENT,
      data: encodeFunctionData({
        abi: ESCROW_ABI,
        functionName: 'claimWithSignature',
        args: [rows, signed],
      }),
      gas: 1_000_000n,
      maxFeePerGas: parseGwei('100'),
      maxPriorityFeePerGas: parseGwei('90'),
    });
    await world.client.mine({ blocks: 1 });
    await world.client.setAutomine(true);
    // A block that is deep enough is final.
    await world.client.mine({ blocks: 30 });
    const first = await answering;
    const answer = first['success'] === true ? first : await untilDone(body);
    const channelState = { balance: '1000', totalClaimed: '1000', refundNonce: '1' };
    expect(answer).toMatchObject({ success: true, amount: '0', extra: { channelState } });
    expect(await stands()).toEqual([1000n, 1000n, 0n, 1n]);
    // The nonce of the authorizer's signature is used: nothing is sent for it again.
    const before = await world.client.getBlockNumber({ cacheTime: 0 });
    expect(await settle(body)).toMatchObject({
      success: true,
      amount: '0',
      transaction: answer['transaction'],
    });
    expect(await world.client.getBlockNumber({ cacheTime: 0 })).toBe(before);
  });

  interface Trick {
    readonly body: Body;
    readonly to: Hex;
    readonly data: Hex;
    /** The channel that gets the money instead. */
    readonly other?: Hex;
  }

  /** The nonce of the deposit, for a transfer to an account of the payer's own. */
  async function toHimself(amount: bigint): Promise<Trick> {
    const { config } = aChannel();
    const salt = newNonce();
    const body = await depositBody({ channels, payer, config, salt });
    const parameters = parseAbiParameters('bytes32, bytes32');
    const nonce = keccak256(encodeAbiParameters(parameters, [channels.idOf(config), salt]));
    const [chainId, token, payTo] = [world.chainId, world.usd, newAccount().address];
    const own = await eip3009Body({ payer, chainId, token, payTo, amount, nonce });
    return { body, to: token, data: presentationData(own) };
  }

  /** The nonce of the permit, for a channel to a receiver of the payer's own. */
  async function toAnother(): Promise<Trick> {
    await world.client.setBalance({ address: payer.address, value: 10n ** 18n });
    await world.approvePermit2(payer, world.usd, 2n ** 255n);
    const { config } = aChannel();
    const own = aChannel().config;
    const nonce = BigInt(newNonce());
    const body = await depositBody({ channels, payer, config, method: 'permit2', nonce });
    const args = await permit2Deposit(channels, payer, own, 1000n, '0x', { nonce });
    const data = encodeFunctionData({ abi: ESCROW_ABI, functionName: 'deposit', args });
    return { body, to: BATCH_SETTLEMENT, data, other: channels.idOf(own) };
  }

  it.each<[string, string, () => Promise<Trick>]>([
    ['sends himself nothing', 'invalid_exact_evm_nonce_already_used', () => toHimself(0n)],
    ['sends himself a unit', 'invalid_exact_evm_nonce_already_used', () => toHimself(1n)],
    ['sends himself as much', 'invalid_exact_evm_nonce_already_used', () => toHimself(1000n)],
    ['fills another channel of his', 'permit2_invalid_nonce', toAnother],
  ])(
    'tell no deposit whose payer is faster, and %s with its nonce',
    async (_, errorReason, trick) => {
      const { body, to, data, other } = await trick();
      const payload = body.paymentPayload['payload'] as { channelConfig: ChannelConfig };
      const balanceOf = async (id: Hex): Promise<bigint> => {
        const [balance] = await world.client.readContract({
          address: BATCH_SETTLEMENT,
          abi: ESCROW_ABI,
          functionName: 'channels',
          args: [id],
        });
        return balance;
      };
      await world.client.setAutomine(false);
      const answering = settle(body);
      await pendingCall();
      const sent = await world.client.sendTransaction({
        account: stranger,
        chain: null,
        to,
        data,
        gas: 1_000_000n,
        maxFeePerGas: parseGwei('100'),
        maxPriorityFeePerGas: parseGwei('90'),
      });
      await world.client.mine({ blocks: 1 });
      await world.client.setAutomine(true);
      // A block that is deep enough is final.
      await world.client.mine({ blocks: 30 });
      const { status } = await world.client.getTransactionReceipt({ hash: sent });
      expect(status).toBe('success');
      const first = await answering;
      expect(first['success']).toBe(false);
      const answer = await untilDone(body);
      expect(answer).toMatchObject({ success: false, errorReason });
      expect(answer).not.toHaveProperty('paidBy');
      expect(await balanceOf(channels.idOf(payload.channelConfig))).toBe(0n);
      if (other !== undefined) expect(await balanceOf(other)).toBe(1000n);
    },
  );

  it('hold failed claims against a payer that empties its channel and fills it again in their blocks', async () => {
    const { config, authorizer, bodies } = aChannel();
    const tricky = await world.payer();
    await world.client.setBalance({ address: tricky.address, value: 10n ** 18n });
    const { address } = tricky;
    const own: ChannelConfig = { ...config, payer: address, payerAuthorizer: address };
    const id = channels.idOf(own);
    const claim = async (total: bigint): Promise<Body> =>
      claimBody(channels, authorizer, [await channels.claim(tricky, own, total)]);
    const send = (
      account: PrivateKeyAccount,
      data: Hex,
      fees: { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint },
    ) => {
      const call = { account, chain: null, to: BATCH_SETTLEMENT, data, gas: 1_000_000n };
      return world.client.sendTransaction({ ...call, ...fees });
    };
    await untilDone(await bodies.deposit());
    await untilDone(await depositBody({ channels, payer: tricky, config: own }));
    for (const total of [300n, 301n, 302n]) {
      // It asked for its money long ago.
      await world.client.setStorageAt({
        address: BATCH_SETTLEMENT,
        index: keccak256(encodeAbiParameters(parseAbiParameters('bytes32, uint256'), [id, 1n])),
        value: numberToHex((BigInt(nowSeconds() - 1000) << 128n) | 1000n, { size: 32 }),
      });
      await world.client.setAutomine(false);
      const answering = settle(await claim(total));
      await pendingCall();
      // The node puts what pays most first.
      const { baseFeePerGas } = await world.client.getBlock({ blockTag: 'pending' });
      const abi = ESCROW_ABI;
      const emptying = await send(
        tricky,
        encodeFunctionData({ abi, functionName: 'finalizeWithdraw', args: [own] }),
        { maxFeePerGas: parseGwei('100'), maxPriorityFeePerGas: parseGwei('90') },
      );
      const args = await eip3009Deposit(channels, tricky, own, 1000n);
      const filling = await send(
        stranger,
        encodeFunctionData({ abi, functionName: 'deposit', args }),
        { maxFeePerGas: baseFeePerGas ?? 0n, maxPriorityFeePerGas: 0n },
      );
      await world.client.mine({ blocks: 1 });
      await world.client.setAutomine(true);
      // A block that is deep enough is final.
      await world.client.mine({ blocks: 30 });
      for (const hash of [emptying, filling]) {
        const { status } = await world.client.getTransactionReceipt({ hash });
        expect(status).toBe('success');
      }
      expect(await answering).toMatchObject({
        success: false,
        errorReason: 'invalid_batch_settlement_evm_claim_transaction_failed',
      });
    }
    expect(await settle(await claim(303n))).toMatchObject({ errorReason: 'payer_suspended' });
    expect(await settle(await bodies.claim())).toMatchObject({ success: true });
  });

  it('fail where they cost more gas than they may have, and hold up nothing beside them', async () => {
    const { config, authorizer } = aChannel();
    const row = async (): Promise<Claim> => {
      const wallet = newAccount();
      await world.fund(wallet.address, 1000n);
      await world.client.setCode({ address: wallet.address, bytecode: ANY_SIGNATURE });
      const own: ChannelConfig = {
        ...config,
        payer: wallet.address,
        payerAuthorizer: zeroAddress,
        salt: newNonce(),
      };
      const args = await eip3009Deposit(channels, wallet, own, 1000n);
      const data = encodeFunctionData({ abi: ESCROW_ABI, functionName: 'deposit', args });
      await sendNow(world.client, { to: BATCH_SETTLEMENT, data });
      return {
        voucher: { channel: own, maxClaimableAmount: 300n },
        signature: `0x${'11'.repeat(6000)}`,
        totalClaimed: 300n,
      };
    };
    const heavy = await claimBody(channels, authorizer, [await row(), await row()]);
    const accepted = await fetch(`${service.url}/settle`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Prefer: 'respond-async' },
      body: JSON.stringify(heavy),
    });
    expect(accepted.status).toBe(202);
    expect(await settle(await aChannel().bodies.deposit())).toMatchObject({ success: true });
    expect(await settle(heavy)).toMatchObject({
      success: false,
      errorReason: 'invalid_batch_settlement_evm_claim_simulation_failed',
    });
  });

  it('answer all who ask at once, and again, with one transaction', async () => {
    const { bodies, stands } = aChannel();
    for (const action of ACTIONS) {
      const body = await bodies[action]();
      const before = await world.client.getBlockNumber({ cacheTime: 0 });
      const answers = await Promise.all(Array.from({ length: 6 }, () => settle(body)));
      const good = answers.filter(({ success }) => success === true);
      // Goods hang on a deposit alone: it is sold once.
      expect(good).toHaveLength(action === 'deposit' ? 1 : 6);
      expect(new Set(good.map(({ transaction }) => transaction)).size).toBe(1);
      const repeated = await settle(body);
      expect(repeated).toMatchObject(
        action === 'deposit'
          ? { success: false, errorReason: 'duplicate_settlement' }
          : { ...TOLD[action], success: true, transaction: good[0]?.['transaction'] },
      );
      expect(await world.client.getBlockNumber({ cacheTime: 0 })).toBe(before + 1n);
      expect(await stands()).toEqual(STANDINGS[action]);
    }
  });

  it('sell a deposit with no other voucher than one that the channel covers', async () => {
    const { bodies, config } = aChannel();
    const body = await bodies.deposit();
    const more = async (max: bigint): Promise<Body> => {
      const other = structuredClone(body);
      const payload = other.paymentPayload['payload'] as Json;
      const signature = await payer.signTypedData(channels.voucher(channels.idOf(config), max));
      const voucher = payload['voucher'] as Json;
      payload['voucher'] = { ...voucher, maxClaimableAmount: max.toString(), signature };
      return other;
    };
    await world.client.setAutomine(false);
    const first = settle(body);
    await pendingCall();
    expect(await settle(await more(1001n))).toMatchObject({
      success: false,
      errorReason: 'invalid_batch_settlement_evm_cumulative_exceeds_balance',
    });
    await world.client.setAutomine(true);
    await world.client.mine({ blocks: 1 });
    expect(await first).toMatchObject({ success: true });
  });
});
