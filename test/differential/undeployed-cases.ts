import { encodeFunctionData, type Hex, parseAbi, serializeErc6492Signature } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { mint } from '../../sandbox/tokens.js';
import {
  type Body,
  eip3009Body,
  newAccount,
  newNonce,
  nowSeconds,
  type PaymentOptions,
  v1Body,
} from '../support/payments.js';
import { signatureIn, withSignature } from '../support/smart-wallets.js';
import { authorizationOf, type Case, type Stage } from './cases.js';

const FACTORY_ABI = parseAbi([
  'function createAccount(address owner, uint256 salt) returns (address)',
  'function addressOf(address owner, uint256 salt) view returns (address)',
]);

interface Wallet {
  readonly owner: PrivateKeyAccount;
  readonly from: Hex;
  readonly data: Hex;
}

/** Payments of wallets that their factory, one that both facilitators may call, has yet to make. */
export async function undeployedCases({
  world,
  payTo,
  poor,
  v1Network,
  ...stage
}: Stage): Promise<Case[]> {
  const { walletFactory: factory, client, chainId, usd } = world;
  const abi = FACTORY_ABI;

  async function aWallet(balance = 10n ** 20n): Promise<Wallet> {
    const owner = newAccount();
    const args = [owner.address, BigInt(newNonce())] as const;
    const from = await client.readContract({
      abi,
      args,
      address: factory,
      functionName: 'addressOf',
    });
    if (balance > 0n) await mint(client, usd, from, balance);
    return { owner, from, data: encodeFunctionData({ abi, args, functionName: 'createAccount' }) };
  }

  const wallet = await aWallet();
  const another = await aWallet();
  const wrap = (body: Body, data = wallet.data, address: Hex = factory): Body =>
    withSignature(body, serializeErc6492Signature({ address, data, signature: signatureIn(body) }));
  const options = { payer: wallet.owner, from: wallet.from, chainId, token: usd, payTo };
  const bare = (more: Partial<PaymentOptions> = {}): Promise<Body> =>
    eip3009Body({ ...options, ...more });
  const bareV1 = (more: Partial<PaymentOptions> = {}): Promise<Body> =>
    v1Body({ ...options, ...more, network: v1Network });
  const edited = async (edit: (body: Body) => void): Promise<Body> => {
    const body = await bare();
    edit(body);
    return wrap(body);
  };
  const plain = await bare();
  const shortV: Hex = `0x${signatureIn(plain).slice(2, -2)}${signatureIn(plain).endsWith('1b') ? '00' : '01'}`;
  const keyed = { payer: stage.payer, from: stage.payer.address };
  const penniless = await aWallet(0n);
  const short = await aWallet(999n);
  const malformed: Hex = `0x${'00'.repeat(40)}${'6492'.repeat(16)}`;

  return [
    ['signed by its owner', wrap(await bare())],
    ['signed by another', wrap(await bare({ payer: newAccount() }))],
    ['without a wrapper', await bare()],
    ['by a factory that is not allowed', wrap(await bare(), wallet.data, stage.factory)],
    ['by its token', wrap(await bare(), wallet.data, usd)],
    ['by a factory that makes another wallet', wrap(await bare(), another.data)],
    ['by a factory that is asked for nothing', wrap(await bare(), '0x')],
    ['by a factory that is asked for nonsense', wrap(await bare(), '0x12345678')],
    [
      'without money',
      wrap(await bare({ payer: penniless.owner, from: penniless.from }), penniless.data),
    ],
    [
      'with a unit too little',
      wrap(await bare({ payer: short.owner, from: short.from }), short.data),
    ],
    ['of an account without its key or a wallet', wrap(await bare({ from: poor.address }))],
    ['of an account whose key has signed', wrap(await bare(keyed))],
    ['of a wallet that is deployed', wrap(await bare({ ...keyed, from: stage.wallet }))],
    ['expired', wrap(await bare({ validFor: 1 }))],
    ['not yet valid', wrap(await bare({ validAfter: BigInt(nowSeconds() + 50) }))],
    ['signed for another name', wrap(await bare({ name: 'Other' }))],
    ['signed for another version', wrap(await bare({ version: '9' }))],
    ['in a token that is not there', wrap(await bare({ token: newAccount().address }))],
    ['in a token without EIP-3009', wrap(await bare({ token: stage.bare, name: 'Bare' }))],
    ['pays another', await edited((body) => (authorizationOf(body)['to'] = newAccount().address))],
    ['pays less', await edited((body) => (authorizationOf(body)['value'] = '1'))],
    ['pays at another time', await edited((body) => (authorizationOf(body)['validAfter'] = '1'))],
    ['with v as 0 or 1', wrap(withSignature(plain, shortV))],
    ['with an empty signature', wrap(withSignature(await bare(), '0x'))],
    ['with a longer signature', wrap(withSignature(await bare(), `0x${'11'.repeat(66)}`))],
    ['wrapped twice', wrap(wrap(await bare()))],
    ['with a broken wrapper', withSignature(await bare(), malformed), UNSIGNED],
    ['with more calldata than is read', wrap(await bare(), `${wallet.data}${'00'.repeat(8192)}`)],
    ['v1, signed by its owner', wrap(await bareV1())],
    ['v1, signed by another', wrap(await bareV1({ payer: newAccount() }))],
    ['v1, by a factory that is not allowed', wrap(await bareV1(), wallet.data, stage.factory)],
    [
      'v1, without money',
      wrap(await bareV1({ payer: penniless.owner, from: penniless.from }), penniless.data),
    ],
    ['v1, expired', wrap(await bareV1({ validFor: 1 }))],
    ['v1, wrapped twice', wrap(wrap(await bareV1()))],
    ['v1, with a broken wrapper', withSignature(await bareV1(), malformed), UNSIGNED],
  ].map(([name, body, whenThrown]) => ({
    name: `undeployed: ${name as string}`,
    body: body as Body,
    ...(whenThrown !== undefined && { whenThrown: whenThrown as string }),
  }));
}

const UNSIGNED = 'invalid_exact_evm_signature';
