import type { Hex } from 'viem';
import { sendNow } from '../../sandbox/deploy.js';
import { mint } from '../../sandbox/tokens.js';
import {
  type Body,
  eip3009Body,
  newAccount,
  nowSeconds,
  type PaymentOptions,
  v1Body,
} from '../support/payments.js';
import {
  type Mood,
  signatureIn,
  type UndeployedWallet,
  undeployedWallet,
  withSignature,
  wrappedIn,
} from '../support/smart-wallets.js';
import { presentationData, transferData } from '../support/token-calls.js';
import { authorizationOf, type Case, type Stage } from './cases.js';

const AMOUNT = 1000n;
const BALANCE = 10n * AMOUNT;
/** Not on the list of either facilitator. */
const NOBODY = newAccount().address;

interface Made {
  readonly wallet: UndeployedWallet;
  /** A payment of it, without a wrapper. */
  readonly bare: Body;
}

type Build = (made: Made) => Promise<Body> | Body;
/** What happens between verify and settle. */
type Meanwhile = (made: Made, body: Body) => Promise<unknown>;

interface Row {
  readonly name: string;
  readonly build: Build;
  readonly meanwhile?: Meanwhile;
  readonly before?: (made: Made) => Promise<unknown>;
  readonly payment?: Partial<PaymentOptions>;
  readonly balance?: bigint;
  readonly whenThrown?: string;
}

const UNSIGNED = 'invalid_exact_evm_signature';

/**
 * Settles of wallets that are undeployed when they sign. Each has a wallet of its own, so that one settle does not
 * change the next.
 *
 * @param factory - a `MoodyFactory`, which both facilitators may call.
 */
export async function undeployedSettles(stage: Stage, factory: Hex): Promise<Case[]> {
  const { world, payTo, v1Network } = stage;
  const { client, chainId, usd } = world;
  const wrap =
    (mood: Mood = 'finding', address: Hex = factory): Build =>
    ({ wallet, bare }) =>
      wrappedIn(bare, address, wallet.dataFor(mood));
  const wrapped = wrap();
  const deploy = ({ wallet }: Made): Promise<unknown> =>
    sendNow(client, { to: factory, data: wallet.dataFor('honest') });
  const present: Meanwhile = (_, body) =>
    sendNow(client, { to: usd, data: presentationData(body) });
  /** Moves its tokens away, while the wallet has no code yet. */
  const spend: Meanwhile = async ({ wallet }) => {
    const { address } = wallet;
    await client.impersonateAccount({ address });
    await client.setBalance({ address, value: 10n ** 18n });
    const data = transferData(newAccount().address, BALANCE);
    await client.sendUnsignedTransaction({ from: address, to: usd, data });
    await client.mine({ blocks: 1 });
    await client.stopImpersonatingAccount({ address });
  };
  const edited =
    (field: string, value: string): Build =>
    ({ wallet, bare }) => {
      authorizationOf(bare)[field] = value;
      return wrappedIn(bare, factory, wallet.dataFor('finding'));
    };
  const signedAs =
    (change: (signature: Hex) => Hex): Build =>
    ({ wallet, bare }) =>
      wrappedIn(withSignature(bare, change(signatureIn(bare))), factory, wallet.dataFor('finding'));
  /** By an account with a key, which needs no wallet. */
  const keyed =
    (address: Hex = factory, mood: Mood = 'finding'): Build =>
    async ({ wallet }) => {
      const payer = await world.payer();
      const body = await eip3009Body({ payer, chainId, token: usd, payTo, amount: AMOUNT });
      return wrappedIn(body, address, wallet.dataFor(mood));
    };

  const rows: Row[] = [
    { name: 'made by its first payment', build: wrapped },
    { name: 'made by a factory that fails where it is', build: wrap('honest') },
    { name: 'without a wrapper', build: ({ bare }) => bare },
    { name: 'made meanwhile', build: wrapped, meanwhile: deploy },
    {
      name: 'made meanwhile, and its factory fails now',
      build: wrap('honest'),
      meanwhile: deploy,
    },
    { name: 'without a wrapper, made meanwhile', build: ({ bare }) => bare, meanwhile: deploy },
    { name: 'there already, in a wrapper', build: wrapped, before: deploy },
    { name: 'there already, in a wrapper that fails', build: wrap('reverting'), before: deploy },
    { name: 'there already, in a wrapper that burns', build: wrap('burning'), before: deploy },
    {
      name: 'there already, in a wrapper of a factory that is not listed',
      build: wrap('finding', NOBODY),
      before: deploy,
    },
    { name: 'there already, without a wrapper', build: ({ bare }) => bare, before: deploy },
    { name: 'by a factory that is not listed', build: wrap('finding', NOBODY) },
    { name: 'by its token', build: wrap('finding', usd) },
    {
      name: 'by a factory that is not listed, made meanwhile',
      build: wrap('finding', NOBODY),
      meanwhile: deploy,
    },
    { name: 'by a factory that reverts', build: wrap('reverting') },
    {
      name: 'by a factory that reverts, made meanwhile',
      build: wrap('reverting'),
      meanwhile: deploy,
    },
    { name: 'by a factory that does nothing', build: wrap('idle') },
    { name: 'by a factory that burns gas', build: wrap('burning') },
    { name: 'by a factory that answers at length', build: wrap('talking') },
    {
      name: 'by a factory that is asked for nothing',
      build: ({ bare }) => wrappedIn(bare, factory, '0x'),
    },
    {
      name: 'by a factory that is asked for nonsense',
      build: ({ bare }) => wrappedIn(bare, factory, '0x12345678'),
    },
    {
      name: 'by a factory that makes another wallet',
      build: async ({ bare }) =>
        wrappedIn(bare, factory, (await undeployedWallet(client, factory)).dataFor('finding')),
    },
    { name: 'of an account with a key', build: keyed() },
    {
      name: 'of an account with a key, by a factory that reverts',
      build: keyed(factory, 'reverting'),
    },
    { name: 'of an account with a key, by a factory that is not listed', build: keyed(NOBODY) },
    {
      name: 'of an account with a key of another',
      build: async ({ wallet }) => {
        const [payer, { address: from }] = [newAccount(), await world.payer()];
        const body = await eip3009Body({ payer, from, chainId, token: usd, payTo });
        return wrappedIn(body, factory, wallet.dataFor('finding'));
      },
    },
    { name: 'signed by another', build: wrapped, payment: { payer: newAccount() } },
    { name: 'without money', build: wrapped, balance: 0n },
    { name: 'with a unit too little', build: wrapped, balance: AMOUNT - 1n },
    { name: 'with its money spent meanwhile', build: wrapped, meanwhile: spend },
    {
      name: 'with its money there meanwhile',
      build: wrapped,
      balance: 0n,
      meanwhile: ({ wallet }) => mint(client, usd, wallet.address, BALANCE),
    },
    {
      name: 'presented by another meanwhile',
      build: ({ bare }) => bare,
      before: deploy,
      meanwhile: present,
    },
    { name: 'pays another', build: edited('to', newAccount().address) },
    { name: 'pays less', build: edited('value', '1') },
    { name: 'pays at another time', build: edited('validAfter', '1') },
    { name: 'expired', build: wrapped, payment: { validFor: 1 } },
    {
      name: 'not yet valid',
      build: wrapped,
      payment: { validAfter: BigInt(nowSeconds() + 100) },
    },
    { name: 'signed for another name', build: wrapped, payment: { name: 'Other' } },
    { name: 'signed for another version', build: wrapped, payment: { version: '9' } },
    {
      name: 'in a token that is not there',
      build: wrapped,
      payment: { token: newAccount().address },
    },
    {
      name: 'in a token without EIP-3009',
      build: wrapped,
      payment: { token: stage.bare, name: 'Bare' },
    },
    {
      name: 'with v less 27',
      build: signedAs(
        (signature) => `${signature.slice(0, -2)}0${signature.endsWith('1b') ? 0 : 1}` as Hex,
      ),
    },
    { name: 'with an empty signature', build: signedAs(() => '0x') },
    { name: 'with a longer signature', build: signedAs(() => `0x${'11'.repeat(66)}`) },
    {
      name: 'wrapped twice',
      build: async (made) =>
        wrappedIn(await wrapped(made), factory, made.wallet.dataFor('finding')),
    },
    {
      name: 'with a broken wrapper',
      build: ({ bare }) => withSignature(bare, `0x${'00'.repeat(40)}${'6492'.repeat(16)}`),
      whenThrown: UNSIGNED,
    },
    {
      name: 'with a wrapper of no factory',
      build: wrap('finding', `0x${'00'.repeat(20)}`),
    },
  ];

  async function made(row: Row, isV1: boolean): Promise<Case> {
    const wallet = await undeployedWallet(client, factory);
    const { balance = BALANCE } = row;
    if (balance > 0n) await mint(client, usd, wallet.address, balance);
    const options = {
      payer: wallet.owner,
      from: wallet.address,
      chainId,
      token: usd,
      payTo,
      amount: AMOUNT,
      ...row.payment,
    };
    const bare = isV1
      ? await v1Body({ ...options, network: v1Network })
      : await eip3009Body(options);
    const all = { wallet, bare };
    await row.before?.(all);
    const body = await row.build(all);
    const { meanwhile, whenThrown } = row;
    return {
      name: `undeployed: ${isV1 ? 'v1, ' : ''}${row.name}`,
      body,
      ...(meanwhile && { meanwhile: () => meanwhile(all, body) }),
      ...(whenThrown !== undefined && { whenThrown }),
    };
  }

  const cases: Case[] = [];
  for (const row of rows) cases.push(await made(row, false));
  for (const row of rows) if (IN_V1.has(row.name)) cases.push(await made(row, true));
  return cases;
}

/** Those that V1 is asked about as well. */
const IN_V1 = new Set([
  'made by its first payment',
  'made meanwhile',
  'there already, in a wrapper',
  'by a factory that is not listed',
  'by a factory that reverts',
  'signed by another',
  'without money',
  'with its money spent meanwhile',
  'wrapped twice',
]);
