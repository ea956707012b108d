import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import { type FacilitatorClient, HTTPFacilitatorClient } from '@x402/core/server';
import { InMemoryClientChannelStorage } from '@x402/evm/batch-settlement/client';
import { FileChannelStorage } from '@x402/evm/batch-settlement/server/file-storage';
import { type Abi, type Address, encodeFunctionData, type Hex } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { sandboxAccount } from '../../sandbox/accounts.js';
import { type Buyer, type Purchase, stockBuyerAs } from '../../sandbox/buyer.js';
import { type ChannelSeller, channelSeller } from '../../sandbox/channel-seller.js';
import { BATCH_SETTLEMENT, sendNow, USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { freePort } from '../../sandbox/processes.js';
import { listen } from '../../sandbox/seller.js';
import { Reference } from '../differential/reference.js';
import { Channels, type Claim, ESCROW_ABI } from '../support/channels.js';
import { deep, it } from '../support/part.js';
import { newAccount, newNonce } from '../support/payments.js';
import { World } from '../support/world.js';

const PRICE = 1000n;
const FUNDS = 10n ** 9n;
/** For calls whose function is a variable. */
const ESCROW: Abi = ESCROW_ABI;

/** Who settles for the seller. */
type Facilitator = (world: World) => Promise<FacilitatorClient>;

const FACILITATORS: readonly (readonly [string, Facilitator])[] = [
  [
    'this service',
    async (world) => new HTTPFacilitatorClient({ url: (await world.service()).url }),
  ],
  [
    'the reference facilitator',
    ({ anvil, chainId }) =>
      Promise.resolve(new Reference(anvil.url, chainId, 'local', sandboxAccount(0).key).client),
  ],
];

/** The stock client, the stock server and its manager, unmodified. */
describe.each(FACILITATORS)('channels of the stock client and server, by %s', (_, start) => {
  let world: World;
  let facilitator: FacilitatorClient;
  let channels: Channels;
  let folder: string;
  let payTo: Address;
  let authorizer: PrivateKeyAccount;
  let seller: ChannelSeller;
  let server: Server;
  let url: string;

  beforeAll(async () => {
    world = await World.start();
    facilitator = await start(world);
    channels = new Channels(world.chainId);
  });
  afterAll(() => world.stop());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'x402-channels-'));
    payTo = newAccount().address;
    authorizer = newAccount();
  });
  afterEach(() => {
    closeSeller();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A seller that keeps its vouchers in a folder, as one does that is started again. */
  async function openSeller(
    more: { isPermit2?: boolean; onchainStateTtlMs?: number; minDeposit?: bigint } = {},
  ) {
    const { isPermit2 = false, minDeposit, ...options } = more;
    seller = channelSeller({
      facilitator,
      network: `eip155:${world.chainId}`,
      payTo,
      authorizer,
      token: isPermit2 ? world.coin : world.usd,
      extra: {
        ...(isPermit2
          ? { assetTransferMethod: 'permit2' }
          : { name: USD_NAME, version: USD_VERSION }),
        ...(minDeposit !== undefined && { minDeposit: minDeposit.toString() }),
      },
      price: PRICE,
      storage: new FileChannelStorage({ directory: folder }),
      ...options,
    });
    const port = await freePort();
    server = await listen(seller.app, port);
    url = `http://127.0.0.1:${port}/call`;
  }
  function closeSeller(): void {
    server.close();
    server.closeAllConnections();
  }

  interface ChannelBuyer extends Buyer {
    readonly account: PrivateKeyAccount;
    /** Of the channel with the seller of this moment. */
    readonly channel: () => Promise<{ id: Hex; balance: bigint; totalClaimed: bigint }>;
  }

  async function aBuyer({ isPermit2 = false } = {}): Promise<ChannelBuyer> {
    const account = isPermit2
      ? await world.payer({ balance: FUNDS, approves: true })
      : privateKeyToAccount(generatePrivateKey());
    if (!isPermit2) await world.fund(account.address, FUNDS);
    const salt = newNonce();
    const storage = new InMemoryClientChannelStorage();
    const buyer = stockBuyerAs(account, world.anvil.url, { salt, storage });
    const channel = async () => {
      const id = channels.idOf({
        payer: account.address,
        payerAuthorizer: account.address,
        receiver: payTo,
        receiverAuthorizer: authorizer.address,
        token: isPermit2 ? world.coin : world.usd,
        withdrawDelay: 900,
        salt,
      });
      const [balance, totalClaimed] = await world.client.readContract({
        address: BATCH_SETTLEMENT,
        abi: ESCROW_ABI,
        functionName: 'channels',
        args: [id],
      });
      return { id, balance, totalClaimed };
    };
    return { ...buyer, account, channel };
  }

  /** Calls that are paid one after another. */
  async function calls(buyer: Buyer, count: number, query = ''): Promise<Purchase> {
    let last: Purchase | undefined;
    for (let index = 0; index < count; index += 1) {
      last = await buyer.buy(`${url}${query}`);
      expect(last).toMatchObject({ status: 200, receipt: { success: true } });
    }
    if (last === undefined) throw new Error('no call was made');
    return last;
  }
  /** Buyers that have opened a channel each. One after another: two deposits at once collide at the reference. */
  async function openBuyers(count: number): Promise<ChannelBuyer[]> {
    const buyers: ChannelBuyer[] = [];
    for (let index = 0; index < count; index += 1) {
      const buyer = await aBuyer();
      await calls(buyer, 1);
      buyers.push(buyer);
    }
    return buyers;
  }
  const received = (token = world.usd): Promise<bigint> => world.balance(token, payTo);
  const transactions = async (): Promise<number> => {
    // Each transaction is a block here.
    return Number(await world.client.getBlockNumber({ cacheTime: 0 }));
  };

  it.each([
    ['EIP-3009', false],
    ['Permit2', true],
  ])('opens by %s, takes vouchers, tops up, claims and settles', async (_method, isPermit2) => {
    await openSeller({ isPermit2 });
    const buyer = await aBuyer({ isPermit2 });
    const token = isPermit2 ? world.coin : world.usd;

    const opened = await calls(buyer, 1);
    expect(opened.receipt?.transaction).toMatch(/^0x/);
    expect(opened.receipt?.amount).toBe((PRICE * 10n).toString());
    expect(await buyer.channel()).toMatchObject({ balance: PRICE * 10n, totalClaimed: 0n });

    // Nine calls more are covered by the deposit, and none is a transaction.
    const before = await transactions();
    expect((await calls(buyer, 9)).receipt?.transaction).toBe('');
    expect(await transactions()).toBe(before);

    // The next needs more than there is.
    expect((await calls(buyer, 1)).receipt?.transaction).toMatch(/^0x/);
    expect(await buyer.channel()).toMatchObject({ balance: PRICE * 20n });

    const { claims, settle } = await seller.manager.claimAndSettle();
    expect(claims).toMatchObject([{ vouchers: 1 }]);
    expect(settle?.transaction).toMatch(/^0x/);
    expect(await buyer.channel()).toMatchObject({ totalClaimed: PRICE * 11n });
    expect(await received(token)).toBe(PRICE * 11n);
    expect(await world.balance(token, buyer.account.address)).toBe(FUNDS - PRICE * 20n);
    // Nothing is left to claim.
    expect(await seller.manager.claimAndSettle()).toEqual({ claims: [], settle: undefined });
  });

  it('claims less than was signed where a call took less', async () => {
    await openSeller();
    const buyer = await aBuyer();
    await calls(buyer, 3, '?charge=400');
    await seller.manager.claimAndSettle();
    expect(await received()).toBe(1200n);
  });

  it('claims for many channels in one transaction', async () => {
    await openSeller();
    const buyers = await openBuyers(3);
    await Promise.all(buyers.map((buyer) => calls(buyer, 3)));
    const [claim] = await seller.manager.claim();
    expect(claim?.vouchers).toBe(3);
    await seller.manager.settle();
    expect(await received()).toBe(PRICE * 12n);
  });

  it('claims channels of two tokens together where one storage keeps both', async () => {
    await openSeller();
    const buyer = await aBuyer();
    await calls(buyer, 2);
    closeSeller();
    await openSeller({ isPermit2: true });
    const other = await aBuyer({ isPermit2: true });
    await calls(other, 3);
    // The stock manager claims all that is stored, whatever token it was made for.
    expect(await seller.manager.claim()).toMatchObject([{ vouchers: 2 }]);
    expect(await buyer.channel()).toMatchObject({ totalClaimed: PRICE * 2n });
    expect(await other.channel()).toMatchObject({ totalClaimed: PRICE * 3n });
    await seller.manager.settle();
    expect(await received(world.coin)).toBe(PRICE * 3n);
  });

  it('gives back to the buyer what it asks for, in parts, and claims the rest meanwhile', async () => {
    await openSeller();
    const buyer = await aBuyer();
    await calls(buyer, 3);
    const part = await buyer.refund(url, PRICE.toString());
    expect(part).toMatchObject({ success: true, amount: PRICE.toString() });
    // What the buyer has spent was claimed in the same transaction.
    expect(await buyer.channel()).toMatchObject({ balance: PRICE * 9n, totalClaimed: PRICE * 3n });
    await calls(buyer, 1);
    const rest = await buyer.refund(url);
    expect(rest).toMatchObject({ success: true, amount: (PRICE * 5n).toString() });
    expect(await buyer.channel()).toMatchObject({ balance: PRICE * 4n, totalClaimed: PRICE * 4n });
    expect(await world.balance(world.usd, buyer.account.address)).toBe(FUNDS - PRICE * 4n);
    await seller.manager.settle();
    expect(await received()).toBe(PRICE * 4n);
    // The channel is open to another deposit.
    await calls(buyer, 2);
    expect((await buyer.channel()).balance).toBeGreaterThan(PRICE * 4n);
  });

  it('gives idle channels their rest, and is paid for what they have spent', async () => {
    await openSeller();
    const buyers = await openBuyers(2);
    await Promise.all(buyers.map((buyer) => calls(buyer, 1)));
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const refunds = await seller.manager.refundIdleChannels({ idleSecs: 1 });
    expect(refunds).toHaveLength(2);
    await seller.manager.settle();
    expect(await received()).toBe(PRICE * 4n);
    for (const { account } of buyers) {
      expect(await world.balance(world.usd, account.address)).toBe(FUNDS - PRICE * 2n);
    }
    expect(await seller.manager.refundIdleChannels({ idleSecs: 1 })).toEqual([]);
  });

  it('claims after a restart what was signed before it', async () => {
    await openSeller();
    const buyer = await aBuyer();
    await calls(buyer, 3);
    closeSeller();
    await openSeller();
    await calls(buyer, 1);
    await seller.manager.claimAndSettle();
    expect(await received()).toBe(PRICE * 4n);
  });

  it('verifies each voucher where the seller keeps nothing of the chain', async () => {
    await openSeller({ onchainStateTtlMs: 0 });
    const buyer = await aBuyer();
    await calls(buyer, 3);
    await seller.manager.claimAndSettle();
    await calls(buyer, 2);
    await seller.manager.claimAndSettle();
    expect(await received()).toBe(PRICE * 5n);
  });

  it('claims, settles and refunds by the timers of the manager', async () => {
    await openSeller();
    const buyer = await aBuyer();
    await calls(buyer, 2);
    const done: string[] = [];
    seller.manager.start({
      claimIntervalSecs: 1,
      settleIntervalSecs: 1,
      refundIntervalSecs: 1,
      selectRefundChannels: (known) =>
        known.filter(({ chargedCumulativeAmount, totalClaimed }) => {
          return BigInt(totalClaimed) > 0n && totalClaimed === chargedCumulativeAmount;
        }),
      onClaim: () => done.push('claim'),
      onSettle: () => done.push('settle'),
      onRefund: () => done.push('refund'),
      onError: (error) => done.push(String(error)),
    });
    const end = Date.now() + 20_000;
    while (!done.includes('refund') && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await seller.manager.stop();
    expect(done.slice(0, 3)).toEqual(['claim', 'settle', 'refund']);
    expect(await received()).toBe(PRICE * 2n);
    expect(await buyer.channel()).toMatchObject({ balance: PRICE * 2n, totalClaimed: PRICE * 2n });
  });

  deep('claims a thousand calls in one transaction', async () => {
    await openSeller({ minDeposit: PRICE * 250n });
    const buyers = await openBuyers(4);
    await Promise.all(buyers.map((buyer) => calls(buyer, 249)));
    const before = await transactions();
    expect(await seller.manager.claim()).toMatchObject([{ vouchers: 4 }]);
    expect((await transactions()) - before).toBe(1);
    await seller.manager.settle();
    expect(await received()).toBe(PRICE * 1000n);
  });

  describe('with others that interfere', () => {
    /** Everything that the seller has sent to be settled. */
    type Settle = Parameters<FacilitatorClient['settle']>;

    /** A facilitator that calls another one, after something else was done. */
    const preceded = (doFirst: (...sent: Settle) => Promise<unknown>): FacilitatorClient => ({
      verify: (...sent) => facilitator.verify(...sent),
      settle: async (...sent) => {
        await doFirst(...sent);
        return facilitator.settle(...sent);
      },
      getSupported: () => facilitator.getSupported(),
    });
    const managerBy = (client: FacilitatorClient) =>
      seller.scheme.createChannelManager(client, `eip155:${world.chainId}`, world.usd);

    interface SentClaim {
      readonly claims: Claim[];
      readonly claimAuthorizerSignature: Hex;
    }

    it('claims what a stranger has copied and sent first', async () => {
      await openSeller();
      const buyer = await aBuyer();
      await calls(buyer, 3);
      const copied = preceded(async ({ payload }) => {
        if (payload['type'] !== 'claim') return;
        const { claims, claimAuthorizerSignature } = payload as unknown as SentClaim;
        const data = encodeFunctionData({
          abi: ESCROW_ABI,
          functionName: 'claimWithSignature',
          args: [claims, claimAuthorizerSignature],
        });
        await sendNow(world.client, { to: BATCH_SETTLEMENT, data });
      });
      const { claims } = await managerBy(copied).claimAndSettle();
      expect(claims).toHaveLength(1);
      expect(await received()).toBe(PRICE * 3n);
    });

    it('takes an old claim again without an effect', async () => {
      await openSeller();
      const buyer = await aBuyer();
      const sent: Settle[] = [];
      const manager = managerBy(
        preceded((...message) => {
          sent.push(structuredClone(message));
          return Promise.resolve();
        }),
      );
      await calls(buyer, 2);
      await manager.claim();
      await calls(buyer, 2);
      await manager.claimAndSettle();
      const [old] = sent;
      if (old === undefined) throw new Error('nothing was claimed');
      for (let times = 0; times < 3; times += 1) {
        expect(await facilitator.settle(...old)).toMatchObject({ success: true });
      }
      expect(await buyer.channel()).toMatchObject({ totalClaimed: PRICE * 4n });
      expect(await received()).toBe(PRICE * 4n);
    });

    it('pays once what two managers claim and settle at once', async () => {
      await openSeller();
      const buyers = await openBuyers(2);
      const managers = [managerBy(facilitator), managerBy(facilitator)];
      // One of the two may find nothing to do.
      await Promise.allSettled(managers.map((manager) => manager.claimAndSettle()));
      await Promise.allSettled(managers.map((manager) => manager.settle()));
      expect(await received()).toBe(PRICE * BigInt(buyers.length));
    });

    // The last one: it moves the clock of the chain.
    it('claims before the end of a withdrawal what was charged until then', async () => {
      await openSeller({ onchainStateTtlMs: 0 });
      const buyer = await aBuyer();
      await calls(buyer, 2);
      const channelOf = await seller.scheme.getStorage().get((await buyer.channel()).id);
      if (channelOf === undefined) throw new Error('no channel was stored');
      const { account } = buyer;
      await world.client.setBalance({ address: account.address, value: 10n ** 18n });
      const send = async (
        call: 'initiateWithdraw' | 'finalizeWithdraw',
        amounts: readonly bigint[],
      ): Promise<void> => {
        const args = [channelOf.channelConfig, ...amounts];
        const data = encodeFunctionData({ abi: ESCROW, functionName: call, args });
        const to = BATCH_SETTLEMENT;
        const hash = await world.client.sendTransaction({ account, chain: null, to, data });
        const { status } = await world.client.waitForTransactionReceipt({ hash });
        expect(status).toBe('success');
      };
      await send('initiateWithdraw', [PRICE * 10n]);
      await calls(buyer, 1);
      expect(await seller.manager.getWithdrawalPendingSessions()).toHaveLength(1);
      await seller.manager.claimAndSettle();
      await world.client.increaseTime({ seconds: 900 });
      await send('finalizeWithdraw', []);
      expect(await received()).toBe(PRICE * 3n);
      expect(await world.balance(world.usd, account.address)).toBe(FUNDS - PRICE * 3n);
    });
  });
});
