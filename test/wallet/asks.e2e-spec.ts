import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Address } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { Browser } from '../support/browser.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { deep, it } from '../support/part.js';
import { newAccount, nowSeconds, TRANSFER_TYPES } from '../support/payments.js';
import { TestSeller } from './test-seller.js';
import { signed, WalletWorld } from './wallet-world.js';

const ONE = 10n ** 18n;
const HALF = ONE / 2n;
const PAYMENTS = '/v1/wallets/me/payments';
const RULES = '/v1/wallets/me/policy';

interface Buyer {
  readonly owner: PrivateKeyAccount;
  readonly ownerToken: string;
  readonly agent: string;
  readonly address: Address;
}

/** Makes the offers a test sets, and counts the payments it is shown; it has none settled. */
class FickleSeller {
  payTo = newAccount().address;
  amount = ONE;
  shown = 0;

  private constructor(private readonly server: Server) {}

  static async start({ world }: WalletWorld): Promise<FickleSeller> {
    const { usd, chainId } = world;
    const server = createServer((request, response) => {
      if (request.headers['payment-signature'] !== undefined) {
        seller.shown += 1;
        response.writeHead(500).end();
        return;
      }
      const accepts = [
        {
          scheme: 'exact',
          network: `eip155:${chainId}`,
          asset: usd,
          payTo: seller.payTo,
          amount: `${seller.amount}`,
          maxTimeoutSeconds: 60,
          extra: { name: USD_NAME, version: USD_VERSION },
        },
      ];
      const required = { x402Version: 2, accepts, resource: { url: 'http://fickle.example' } };
      const value = Buffer.from(JSON.stringify(required)).toString('base64');
      response.writeHead(402, { 'payment-required': value }).end('{}');
    });
    const seller: FickleSeller = new FickleSeller(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return seller;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/goods`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

describe('a payment above "askAbove"', () => {
  let wallets: WalletWorld;
  let seller: TestSeller;
  let fickle: FickleSeller;
  let goods: string;

  beforeAll(async () => {
    wallets = await WalletWorld.start();
    seller = await TestSeller.start(wallets.world, wallets.url);
    fickle = await FickleSeller.start(wallets);
    goods = `${seller.url}/report`;
  });
  afterAll(async () => {
    fickle.stop();
    seller.stop();
    await wallets.stop();
  });

  const rules = (more: object = {}) => {
    const asset = `eip155:${wallets.world.chainId}/${wallets.world.usd}`;
    const limit = { asset, perPayment: `${2n * ONE}`, budget: `${10n * ONE}` };
    return { limits: [{ ...limit, askAbove: `${HALF}`, ...more }] };
  };
  const newBuyer = async (): Promise<Buyer> => {
    const buyer = await wallets.fundedWallet();
    const set = await wallets.send('PUT', RULES, buyer.ownerToken, rules());
    expect(set.body).toMatchObject({
      limits: [{ askAbove: { atomic: `${HALF}`, decimal: '0.5' } }],
    });
    return buyer;
  };
  const pay = ({ agent }: Buyer, intentId: string, url = goods): Promise<Answer> =>
    wallets.post(PAYMENTS, { url, maxAmount: '2', intentId }, agent);
  const statusOf = async ({ agent }: Buyer, intentId: string) =>
    (await wallets.send('GET', `${PAYMENTS}/${intentId}`, agent)).body['status'];
  const linkOf = ({ body }: Answer): string =>
    String((body['ask'] as { readonly url?: string } | undefined)?.url);
  const askOf = (answer: Answer): string => new URL(linkOf(answer)).searchParams.get('id') ?? '';
  const awaiting = async (buyer: Buyer, intentId: string, url = goods): Promise<string> => {
    const answer = await pay(buyer, intentId, url);
    expect([answer.status, answer.body['status']]).toEqual([200, 'awaiting_owner']);
    return askOf(answer);
  };
  const challenge = (ask: string, { address }: PrivateKeyAccount, at = wallets.url) =>
    post(`${at}/v1/asks/${ask}/nonce`, { address });
  const approval = async (ask: string, owner: PrivateKeyAccount, at = wallets.url) => {
    const { body } = await challenge(ask, owner, at);
    return signed(owner, String(body['message']));
  };
  const approve = async (ask: string, owner: PrivateKeyAccount, at = wallets.url) =>
    post(`${at}/v1/asks/${ask}/approve`, await approval(ask, owner, at));
  const deny = (ask: string) => post(`${wallets.url}/v1/asks/${ask}/deny`, {});
  const spentBy = async ({ agent }: Buyer): Promise<string | undefined> => {
    const { body } = await wallets.send('GET', RULES, agent);
    return (body as { limits: { spent: { decimal: string } }[] }).limits[0]?.spent.decimal;
  };

  it('waits for the owner, and is paid once after the signature', async () => {
    const buyer = await newBuyer();
    const before = await seller.received();
    const quote = await wallets.post(`${PAYMENTS}/quote`, { url: goods }, buyer.agent);
    expect(quote.body).toMatchObject({ offers: [{ isAllowed: true, asksOwner: true }] });
    const waiting = await pay(buyer, 'dear');
    expect(waiting.body).toMatchObject({
      status: 'awaiting_owner',
      amount: { decimal: '1' },
      payTo: seller.payTo.toLowerCase(),
    });
    expect(linkOf(waiting)).toMatch(/^http:\/\/wallet\.example\/wallet\/ask\?id=[\w-]{22}$/);
    // Asked again, the owner is not asked twice.
    expect(linkOf(await pay(buyer, 'dear'))).toBe(linkOf(waiting));
    const ask = askOf(waiting);
    const listed = await wallets.send('GET', '/v1/wallets/me/asks', buyer.agent);
    expect(listed.body).toMatchObject({ asks: [{ ask, status: 'awaiting_owner', url: goods }] });
    expect(await spentBy(buyer)).toBe('0');

    const { body } = await challenge(ask, buyer.owner);
    const message = String(body['message']);
    const named = [
      goods,
      seller.payTo.toLowerCase(),
      wallets.world.usd.toLowerCase(),
      '"dear"',
      ask,
    ];
    for (const one of [...named, `${ONE}`, `eip155:${wallets.world.chainId}`]) {
      expect(message).toContain(one);
    }
    expect((await approve(ask, buyer.owner)).body).toEqual({ status: 'approved' });
    expect(await statusOf(buyer, 'dear')).toBe('approved');
    expect(await seller.received()).toBe(before);

    const paid = await pay(buyer, 'dear');
    expect(paid.body).toMatchObject({ status: 'paid', httpStatus: 200 });
    expect((await pay(buyer, 'dear')).body['transaction']).toBe(paid.body['transaction']);
    expect(await seller.received()).toBe(before + 1);
    expect(await spentBy(buyer)).toBe('1');
    const left = await wallets.send('GET', '/v1/wallets/me/asks', buyer.agent);
    expect(left.body).toEqual({ asks: [] });
    expect((await get(`${wallets.url}/v1/asks/${ask}`)).body['status']).toBe('used');
  });

  it('is not asked about at the limit, or below', async () => {
    const buyer = await newBuyer();
    fickle.amount = HALF;
    const shown = fickle.shown;
    await pay(buyer, 'at-the-limit', fickle.url);
    expect(fickle.shown).toBe(shown + 1);
    fickle.amount = HALF + 1n;
    await awaiting(buyer, 'above', fickle.url);
    expect(fickle.shown).toBe(shown + 1);
  });

  it('is not made when the owner says no, also after a yes', async () => {
    const buyer = await newBuyer();
    const before = await seller.received();
    const ask = await awaiting(buyer, 'denied');
    expect((await approve(ask, buyer.owner)).status).toBe(200);
    expect((await deny(ask)).body).toEqual({ status: 'denied' });
    expect(await statusOf(buyer, 'denied')).toBe('denied');
    const refused = await pay(buyer, 'denied');
    expect([refused.status, refused.body['rule']]).toEqual([403, 'denied_by_owner']);
    expect(refused.body['howToChange']).toMatch(/owner/);
    expect((await approve(ask, buyer.owner)).status).not.toBe(200);
    await wallets.flush();
    expect((await pay(buyer, 'denied')).body['rule']).toBe('denied_by_owner');
    expect(await seller.received()).toBe(before);
  });

  describe('is approved by nobody', () => {
    let buyer: Buyer;
    let ask: string;
    beforeAll(async () => {
      buyer = await newBuyer();
      ask = await awaiting(buyer, 'guarded');
    });
    const expectUnpaid = async (refused: Answer, status: number) => {
      expect(refused.status).toBe(status);
      expect(await statusOf(buyer, 'guarded')).toBe('awaiting_owner');
    };

    it('but the owner', async () => {
      const other = await newBuyer();
      await expectUnpaid(await challenge(ask, other.owner), 403);
      const { body } = await challenge(ask, buyer.owner);
      const message = String(body['message']);
      const bySomebody = await signed(other.owner, message);
      const approving = `${wallets.url}/v1/asks/${ask}/approve`;
      await expectUnpaid(await post(approving, bySomebody), 401);
      const inAnothersName = { ...bySomebody, address: buyer.owner.address };
      await expectUnpaid(await post(approving, inAnothersName), 401);
    });

    it('by a signature for another purchase, price or payee', async () => {
      const other = await awaiting(buyer, 'another');
      const approving = `${wallets.url}/v1/asks/${ask}/approve`;
      await expectUnpaid(await post(approving, await approval(other, buyer.owner)), 401);
      const { body } = await challenge(ask, buyer.owner);
      const changed = String(body['message']).replace('at most 1 SUSD', 'at most 2 SUSD');
      await expectUnpaid(await post(approving, await signed(buyer.owner, changed)), 401);
      await expectUnpaid(await post(approving, await signed(buyer.owner, 'yes')), 401);
    });

    it('who guesses its name', async () => {
      for (const name of ['x', 'x'.repeat(22), '%2e%2e', 'a'.repeat(500)]) {
        expect((await challenge(name, buyer.owner)).status).toBe(404);
      }
    });
  });

  it('is approved once, by each signature and in all', async () => {
    const buyer = await newBuyer();
    const before = await seller.received();
    const ask = await awaiting(buyer, 'once');
    const [one, two] = [await approval(ask, buyer.owner), await approval(ask, buyer.owner)];
    const approving = `${wallets.url}/v1/asks/${ask}/approve`;
    const answers = await Promise.all([one, one, two].map((sent) => post(approving, sent)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const paid = await Promise.all(['once', 'once', 'once'].map((id) => pay(buyer, id)));
    expect(new Set(paid.map(({ body }) => body['transaction'])).size).toBe(1);
    for (const sent of [one, two]) expect((await post(approving, sent)).status).toBe(409);
    expect((await deny(ask)).status).toBe(409);
    // An approval of one purchase is good for no other.
    await awaiting(buyer, 'twice');
    expect(await seller.received()).toBe(before + 1);
  });

  it('is asked about anew when the seller wants more, or another payee', async () => {
    const buyer = await newBuyer();
    fickle.amount = ONE;
    const first = await awaiting(buyer, 'fickle', fickle.url);
    expect((await approve(first, buyer.owner)).status).toBe(200);
    const shown = fickle.shown;
    fickle.amount = ONE + 1n;
    const second = await awaiting(buyer, 'fickle', fickle.url);
    expect(second).not.toBe(first);
    expect((await approve(second, buyer.owner)).status).toBe(200);
    fickle.payTo = newAccount().address;
    const third = await awaiting(buyer, 'fickle', fickle.url);
    expect(third).not.toBe(second);
    expect((await approve(third, buyer.owner)).status).toBe(200);
    const elsewhere = `${fickle.url}?other`;
    expect((await pay(buyer, 'fickle', elsewhere)).body['status']).toBe('awaiting_owner');
    expect(fickle.shown).toBe(shown);
    expect(await spentBy(buyer)).toBe('0');
  });

  it('is paid at a lower price than was approved', async () => {
    const buyer = await newBuyer();
    fickle.amount = ONE;
    const ask = await awaiting(buyer, 'cheaper', fickle.url);
    expect((await approve(ask, buyer.owner)).status).toBe(200);
    const shown = fickle.shown;
    fickle.amount = HALF + HALF / 2n;
    await pay(buyer, 'cheaper', fickle.url);
    expect([fickle.shown, await spentBy(buyer)]).toEqual([shown + 1, '0.75']);
  });

  deep('is asked about anew when the rules have changed', async () => {
    const buyer = await newBuyer();
    const change = (more: object) => wallets.send('PUT', RULES, buyer.ownerToken, rules(more));
    const first = await awaiting(buyer, 'changed');
    const early = await approval(first, buyer.owner);
    await change({ askAbove: `${HALF - 1n}` });
    const late = await post(`${wallets.url}/v1/asks/${first}/approve`, early);
    expect(late.status).toBe(409);
    const second = await awaiting(buyer, 'changed');
    expect((await approve(second, buyer.owner)).status).toBe(200);
    await change({ askAbove: `${HALF - 2n}` });
    expect(await awaiting(buyer, 'changed')).not.toBe(second);
    await change({ perPayment: `${HALF}` });
    expect((await pay(buyer, 'changed')).body['rule']).toBe('per_payment');
    expect(await spentBy(buyer)).toBe('0');
  });

  it('is not made by a stopped wallet, whoever said yes', async () => {
    const buyer = await newBuyer();
    const [said, open] = [await awaiting(buyer, 'said'), await awaiting(buyer, 'open')];
    expect((await approve(said, buyer.owner)).status).toBe(200);
    const early = await approval(open, buyer.owner);
    await wallets.post('/v1/wallets/me/stop', '', buyer.agent);
    expect((await pay(buyer, 'said')).body['rule']).toBe('kill_switch');
    const late = await post(`${wallets.url}/v1/asks/${open}/approve`, early);
    expect(late.body['rule']).toBe('kill_switch');
  });

  deep('runs out, and the yes with it', async () => {
    const hasty = await wallets.another({ WALLET_ASK_SECONDS: '10' });
    const buyer = await newBuyer();
    const buy = (intentId: string) =>
      post(
        `${hasty.url}${PAYMENTS}`,
        { url: goods, maxAmount: '2', intentId },
        { authorization: `Bearer ${buyer.agent}` },
      );
    const [said, open] = [askOf(await buy('said')), askOf(await buy('open'))];
    expect((await approve(said, buyer.owner, hasty.url)).status).toBe(200);
    const early = await approval(open, buyer.owner, hasty.url);
    await eventually(
      'both have run out',
      async () => {
        const statuses = [await statusOf(buyer, 'said'), await statusOf(buyer, 'open')];
        return statuses.every((status) => status === 'expired');
      },
      30_000,
    );
    expect((await post(`${hasty.url}/v1/asks/${open}/approve`, early)).status).toBe(409);
    const anew = await buy('said');
    expect([anew.body['status'], askOf(anew) === said]).toEqual(['awaiting_owner', false]);
    expect(await spentBy(buyer)).toBe('0');
  });

  deep('is not signed past the owner by the other door', async () => {
    const buyer = await newBuyer();
    const message = {
      from: buyer.address,
      to: seller.payTo,
      value: `${ONE}`,
      validAfter: '0',
      validBefore: `${nowSeconds() + 60}`,
      nonce: `0x${'07'.repeat(32)}`,
    };
    const domain = {
      name: USD_NAME,
      version: USD_VERSION,
      chainId: wallets.world.chainId,
      verifyingContract: wallets.world.usd,
    };
    const data = { domain, types: TRANSFER_TYPES, message };
    const typed_data = { ...data, primaryType: 'TransferWithAuthorization' };
    const wish = { method: 'eth_signTypedData_v4', params: { typed_data } };
    const refused = await wallets.post('/v1/wallets/me/rpc', wish, buyer.agent);
    expect([refused.status, refused.body['rule']]).toEqual([403, 'ask_above']);
  });

  deep('waits with nineteen others at most, of which a no is one until it runs out', async () => {
    const buyer = await newBuyer();
    fickle.amount = ONE;
    const asks: string[] = [];
    for (let at = 0; at < 20; at += 1) {
      asks.push(await awaiting(buyer, `one-of-20-${at}`, fickle.url));
    }
    expect((await deny(asks[0] ?? '')).status).toBe(200);
    const refused = await pay(buyer, 'one-more', fickle.url);
    expect([refused.status, refused.body['rule']]).toEqual([403, 'too_many_asks']);
    // Each waits for itself: the others are answered and paid.
    expect((await approve(asks[1] ?? '', buyer.owner)).status).toBe(200);
    const shown = fickle.shown;
    await pay(buyer, 'one-of-20-1', fickle.url);
    expect(fickle.shown).toBe(shown + 1);
    await awaiting(buyer, 'one-more', fickle.url);
  });

  deep('remembers a yes, and that it was used, when Redis has lost everything', async () => {
    const buyer = await newBuyer();
    const before = await seller.received();
    const [said, open] = [await awaiting(buyer, 'kept'), await awaiting(buyer, 'asked-anew')];
    expect((await approve(said, buyer.owner)).status).toBe(200);
    await wallets.flush();
    expect(await statusOf(buyer, 'kept')).toBe('approved');
    expect((await pay(buyer, 'kept')).body['status']).toBe('paid');
    expect(await awaiting(buyer, 'asked-anew')).not.toBe(open);
    await wallets.flush();
    // A facilitator that has lost its ledger may say "pending" until the block is final.
    await eventually(
      'the old purchase is known',
      async () => {
        const { status } = (await pay(buyer, 'kept')).body;
        return ['paid', 'paid_without_content'].includes(String(status));
      },
      90_000,
    );
    expect((await get(`${wallets.url}/v1/asks/${said}`)).body['status']).toBe('used');
    expect(await seller.received()).toBe(before + 1);
    expect(await spentBy(buyer)).toBe('1');
  });

  test('is approved on a page of its own', async () => {
    const buyer = await newBuyer();
    const ask = await awaiting(buyer, 'by-page');
    const browser = await Browser.start(900, 1100);
    try {
      await browser.provideWallet(buyer.owner);
      await browser.open(`${wallets.url}/wallet/ask`);
      await browser.until(`document.body.innerText.includes('This address names no payment.')`);
      await browser.open(`${wallets.url}/wallet/ask?id=${ask}`);
      await browser.until(`document.querySelector('#deny') !== null`);
      const shown = String(await browser.evaluate(`document.querySelector('#asked').innerText`));
      for (const one of ['1 SUSD', seller.payTo.toLowerCase(), goods, 'by-page', 'above 0.5']) {
        expect(shown).toContain(one);
      }
      await browser.evaluate(`document.querySelector('#connect').click()`);
      await browser.until(`document.querySelector('#sign')?.disabled === false`);
      await browser.evaluate(`document.querySelector('#sign').click()`);
      await browser.until(
        `document.querySelector('#outcome').innerText.startsWith('You approved')`,
      );
      expect(browser.complaints).toEqual([]);
    } finally {
      await browser.stop();
    }
    expect((await pay(buyer, 'by-page')).body['status']).toBe('paid');
  });
});
