import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Address, createWalletClient, http } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { troublesOf } from '../support/axe.js';
import type { PageTransaction } from '../support/browser.js';
import { newAccount } from '../support/payments.js';
import { OwnerInBrowser } from './owner-in-browser.js';
import { TestSeller } from './test-seller.js';
import { WalletWorld } from './wallet-world.js';

const ONE = 10n ** 18n;

describe.each([1280, 390])('an owner with a browser wallet, %i pixels wide', (width) => {
  let wallets: WalletWorld;
  let seller: TestSeller;
  let person: OwnerInBrowser;
  let owner: PrivateKeyAccount;
  let agent: string;
  let address: Address;

  const evaluate = (expression: string): Promise<unknown> => person.browser.evaluate(expression);
  const textOf = async (id: string): Promise<string> =>
    String(await evaluate(`document.getElementById('${id}').innerText`));
  const untilText = (id: string, text: string): Promise<void> =>
    person.browser.until(
      `document.getElementById('${id}')?.innerText.includes(${JSON.stringify(text)}) === true`,
    );
  /** Opens a part of the page, fills in its form, and sends it or presses a button. */
  const use = async (
    part: string,
    fields: Readonly<Record<string, string>>,
    button?: string,
  ): Promise<void> => {
    await evaluate(`(() => {
      const part = document.getElementById('${part}');
      part.open = true;
      const form = part.matches('form') ? part : part.querySelector('form');
      for (const [name, value] of Object.entries(${JSON.stringify(fields)})) {
        form.querySelector('[name="' + name + '"]').value = value;
      }
      ${button === undefined ? 'form.requestSubmit();' : `document.getElementById('${button}').click();`}
    })()`);
  };
  const pay = (intentId: string) =>
    wallets.post(
      '/v1/wallets/me/payments',
      { url: `${seller.url}/report`, maxAmount: '2', intentId },
      agent,
    );
  const send = async ({ to, data, value }: PageTransaction) => {
    const { client } = wallets.world;
    const { url } = wallets.world.anvil;
    const sender = createWalletClient({
      account: owner,
      chain: client.chain,
      transport: http(url),
    });
    const hash = await sender.sendTransaction({
      chain: null,
      to,
      ...(data !== undefined && { data }),
      ...(value !== undefined && { value: BigInt(value) }),
    });
    await client.waitForTransactionReceipt({ hash });
    return hash;
  };

  beforeAll(async () => {
    wallets = await WalletWorld.start();
    seller = await TestSeller.start(wallets.world, wallets.url);
    owner = newAccount();
    await wallets.world.client.setBalance({ address: owner.address, value: ONE });
    await wallets.world.fund(owner.address, 100n * ONE);
    person = await OwnerInBrowser.start(owner, send);
    await person.browser.resize(width, 900);
  });
  afterAll(async () => {
    await person.stop();
    seller.stop();
    await wallets.stop();
  });

  /** The choice of the test token. */
  const usd = (): string => `eip155:${wallets.world.chainId}/${wallets.world.usd}`;

  it('approves an agent in two clicks, and is led to the wallet', async () => {
    const { body } = await wallets.post('/v1/init', 'true');
    await person.open(`${wallets.url}/wallet/approve?code=${String(body['user_code'])}`);
    await person.untilShown('connect');
    expect(await troublesOf(person.browser)).toEqual([]);
    await person.click('connect');
    await person.untilShown('sign');
    expect(await textOf('rules')).toContain('SUSD');
    expect(await troublesOf(person.browser)).toEqual([]);
    await person.click('sign');
    await person.browser.until(`document.body.textContent.includes('A new wallet is empty')`);
    const collected = await wallets.post('/v1/status', { code: body['code'] });
    agent = String(collected.body['token']);
    await evaluate(`document.querySelector('main a').click()`);
    await person.untilShown('connect');
  });

  it('signs in, and reads where to send money', async () => {
    expect(await troublesOf(person.browser)).toEqual([]);
    await person.signIn(wallets.url);
    const { body } = await wallets.send('GET', '/v1/wallets/me', agent);
    address = body['ethereum'] as Address;
    expect(await textOf('wallet-address')).toContain(address);
    expect(await textOf('asks')).toBe('No payment waits for you.');
    expect(await troublesOf(person.browser)).toEqual([]);
  });

  it('adds money: by a QR code, and from the browser wallet', async () => {
    await use('fund', { token: usd(), amount: '5' });
    await person.browser.until(`document.getElementById('qr')?.naturalWidth > 50`);
    expect((await textOf('fund')).toLowerCase()).toContain(`ethereum:${wallets.world.usd}`);
    await use('fund', { token: usd(), amount: '5' }, 'send-money');
    await untilText('outcome', 'Sent 5 SUSD to the wallet');
    expect(await wallets.world.balance(wallets.world.usd, address)).toBe(5n * ONE);
    await person.click('refresh');
    await untilText('balances', '5');
    expect(await troublesOf(person.browser)).toEqual([]);
  });

  it('changes the limits, in whole tokens, and is told what is wrong with them', async () => {
    await person.click('change-limits');
    await person.untilShown('rules-form');
    expect(await troublesOf(person.browser)).toEqual([]);
    await use('rules-form', { perPayment: '1', askAbove: '3', budget: '20' });
    await person.browser.until(
      `document.querySelector('#rules-form .error')?.textContent.includes('must be at most perPayment')`,
    );
    await use('rules-form', { perPayment: '2.5', askAbove: '0.5', budget: '20' });
    await person.untilSaid('The new limits are in force.');
    expect((await person.rows('rules-in-force'))[0]).toMatch(/\| 2.5 \| 0.5 \| 20 \| 0 \| 20$/);
    const { body } = await wallets.send('GET', '/v1/wallets/me/policy', agent);
    expect(body['limits']).toMatchObject([
      { perPayment: { atomic: `${(5n * ONE) / 2n}` }, askAbove: { atomic: `${ONE / 2n}` } },
      {},
    ]);
  });

  it('finds the payment that waits, approves it in two clicks, and it is paid', async () => {
    expect((await pay('wanted')).body['status']).toBe('awaiting_owner');
    await person.click('refresh');
    await untilText('asks', '1 SUSD');
    expect(await troublesOf(person.browser)).toEqual([]);
    await evaluate(`document.querySelector('#asks a.button').click()`);
    await person.untilShown('deny');
    expect(await troublesOf(person.browser)).toEqual([]);
    await person.click('connect');
    await person.click('sign');
    await person.untilSaid('You approved this. It is paid when your agent asks again.');
    expect((await pay('wanted')).body['status']).toBe('paid');
  });

  it('denies another one where it is listed', async () => {
    expect((await pay('unwanted')).body['status']).toBe('awaiting_owner');
    await person.signIn(wallets.url);
    await untilText('asks', '1 SUSD');
    await evaluate(`document.querySelector('#asks button.danger').click()`);
    await person.untilSaid('Denied. Nothing is paid.');
    expect((await pay('unwanted')).body['rule']).toBe('denied_by_owner');
    expect((await person.rows('payments'))[0]).toContain('paid | 1 SUSD');
  });

  it('withdraws to its own address within the limits, and hears which limit is in the way', async () => {
    const before = await wallets.world.balance(wallets.world.usd, owner.address);
    await use('withdraw', { token: usd(), amount: '3' });
    await person.browser.until(
      `document.querySelector('#outcome.error')?.textContent.includes('is above the limit of one payment')`,
    );
    await use('withdraw', { token: usd(), amount: '0.5' });
    await untilText('outcome', `Sent 0.5 SUSD to ${owner.address.toLowerCase()}`);
    const after = await wallets.world.balance(wallets.world.usd, owner.address);
    expect(after - before).toBe(ONE / 2n);
  });

  it('has complained of nothing but refusals', () => {
    const others = person.browser.complaints.filter((text) => !/status of 4\d\d/.test(text));
    expect(others).toEqual([]);
  });
});
