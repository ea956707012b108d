import { secp256k1 } from '@noble/curves/secp256k1';
import { encodeAbiParameters, encodeFunctionData, type Hex, parseAbi, toHex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import {
  type Body,
  eip3009Body,
  type Json,
  newAccount,
  newNonce,
  nowSeconds,
  type PaymentOptions,
  permit2Body,
  type Permit2Options,
  sponsoredBody,
  v1Body,
} from '../support/payments.js';
import type { World } from '../support/world.js';

/** One payment that both facilitators judge. */
export interface Case {
  readonly name: string;
  readonly body: Body;
  /** What we answer where the reference throws. */
  readonly whenThrown?: string;
  /** What happens between its verify and its settle. */
  readonly meanwhile?: () => Promise<unknown>;
}

export type Change = (body: Body) => void;

/** Everything that cases need of a chain, set up once. */
export interface Stage {
  readonly world: World;
  readonly v1Network: string;
  readonly payer: PrivateKeyAccount;
  readonly poor: PrivateKeyAccount;
  readonly payTo: Hex;
  readonly bare: Hex;
  readonly fickle: Hex;
  readonly glutton: Hex;
  readonly wallet: Hex;
  readonly burningWallet: Hex;
  readonly factory: Hex;
  readonly delegated: PrivateKeyAccount;
  readonly usedNonce: Hex;
  readonly usedPermit2: Body;
  readonly poorApproved: PrivateKeyAccount;
  readonly unapproved: PrivateKeyAccount;
}

export const payloadOf = (body: Body): Json => body.paymentPayload['payload'] as Json;
export const authorizationOf = (body: Body): Json => payloadOf(body)['authorization'] as Json;
export const permit2Of = (body: Body): Json => payloadOf(body)['permit2Authorization'] as Json;
const acceptedOf = (body: Body): Json => body.paymentPayload['accepted'] as Json;
const extraOf = (body: Body): Json => body.paymentRequirements['extra'] as Json;
const infoOf = (body: Body): Json => {
  const extensions = body.paymentPayload['extensions'] as Json;
  return (extensions['eip2612GasSponsoring'] as Json)['info'] as Json;
};

const upperCase = (address: string): string => `0x${address.slice(2).toUpperCase()}`;
/** Mixed case that is no valid EIP-55 checksum. */
function badChecksum(address: string): string {
  const at = address.slice(2).search(/[a-fA-F]/) + 2;
  const letter = address.charAt(at);
  const flipped = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
  return address.slice(0, at) + flipped + address.slice(at + 1);
}

const SECP256K1_ORDER = secp256k1.CURVE.n;

function withHighS(signature: Hex): Hex {
  const s = BigInt(`0x${signature.slice(66, 130)}`);
  const flipped = (SECP256K1_ORDER - s).toString(16).padStart(64, '0');
  const v = signature.endsWith('1b') ? '1c' : '1b';
  return `0x${signature.slice(2, 66)}${flipped}${v}`;
}

/** 64 bytes (ERC-2098). */
function compact(signature: Hex): Hex {
  const isOdd = signature.endsWith('1c');
  const s = BigInt(`0x${signature.slice(66, 130)}`) | (isOdd ? 1n << 255n : 0n);
  return `0x${signature.slice(2, 66)}${s.toString(16).padStart(64, '0')}`;
}

function erc6492(factory: Hex, calldata: Hex, inner: Hex): Hex {
  const body = encodeAbiParameters(
    [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }],
    [factory, calldata, inner],
  );
  return `${body}${'6492'.repeat(16)}`;
}

const ZERO = `0x${'0'.repeat(40)}` as const;
const WALLET_FACTORY = parseAbi(['function create(address owner, bytes32 salt)']);

/** Changes that apply to the signature of any method. */
export const SIGNATURES: readonly [string, (signature: Hex) => unknown, string?][] = [
  ['signature is of nobody', () => `0x${'11'.repeat(64)}1b`],
  [
    'signature has a flipped bit',
    (s) => `${s.slice(0, 20)}${s.charAt(20) === '0' ? '1' : '0'}${s.slice(21)}`,
  ],
  ['signature has a high s', withHighS],
  ['signature is compact', compact],
  ['v as 0', (s) => (s.endsWith('1b') ? `${s.slice(0, -2)}00` : `${s.slice(0, -2)}01`)],
  ['signature has v 29', (s) => `${s.slice(0, -2)}1d`],
  ['signature is empty', () => '0x'],
  ['signature is one byte too long', (s) => `${s}00`],
  ['signature is not hex', () => 'nonsense'],
  ['signature is zero', () => `0x${'00'.repeat(65)}`],
  ['signature is in upper case', (s) => upperCase(s)],
  ['signature is missing', () => undefined, 'invalid_payload'],
  ['signature is a number', () => 5, 'invalid_payload'],
  ['signature is null', () => null, 'invalid_payload'],
];

/** Changes of an EIP-3009 authorization that its signature does not cover any more. */
const AUTHORIZATION: readonly [string, (authorization: Json) => void, string?][] = [
  ['from is another account', (a) => (a['from'] = newAccount().address)],
  ['from has a bad checksum', (a) => (a['from'] = badChecksum(String(a['from'])))],
  ['from is in lower case', (a) => (a['from'] = String(a['from']).toLowerCase())],
  ['from is in upper case', (a) => (a['from'] = upperCase(String(a['from'])))],
  ['from is not an address', (a) => (a['from'] = '0x1234')],
  ['from is missing', (a) => delete a['from']],
  ['to is missing', (a) => delete a['to']],
  ['nonce is a number', (a) => (a['nonce'] = 5)],
  ['from is a number', (a) => (a['from'] = 5)],
  ['to is another account', (a) => (a['to'] = newAccount().address)],
  ['to has a bad checksum', (a) => (a['to'] = badChecksum(String(a['to'])))],
  ['to is in lower case', (a) => (a['to'] = String(a['to']).toLowerCase())],
  ['to is not an address', (a) => (a['to'] = 'somebody')],
  ['value is one less', (a) => (a['value'] = String(BigInt(String(a['value'])) - 1n))],
  ['value is negative', (a) => (a['value'] = '-1000')],
  ['value is above uint256', (a) => (a['value'] = (2n ** 256n).toString())],
  ['value is in hex', (a) => (a['value'] = toHex(BigInt(String(a['value']))))],
  ['value is a JSON number', (a) => (a['value'] = Number(a['value']))],
  ['value has leading zeros', (a) => (a['value'] = `000${String(a['value'])}`)],
  ['value is text', (a) => (a['value'] = 'abc'), 'invalid_payload'],
  ['value is a fraction', (a) => (a['value'] = '10.5'), 'invalid_payload'],
  ['value is missing', (a) => delete a['value'], 'invalid_payload'],
  ['value is null', (a) => (a['value'] = null), 'invalid_payload'],
  ['value is an object', (a) => (a['value'] = {}), 'invalid_payload'],
  ['value is empty', (a) => (a['value'] = '')],
  ['value is padded with blanks', (a) => (a['value'] = ` ${String(a['value'])} `)],
  ['value is true', (a) => (a['value'] = true)],
  ['value is a list', (a) => (a['value'] = [1000])],
  ['validAfter was another', (a) => (a['validAfter'] = '1')],
  ['validAfter is text', (a) => (a['validAfter'] = 'soon'), 'invalid_payload'],
  ['validBefore was another', (a) => (a['validBefore'] = String(nowSeconds() + 1000))],
  ['validBefore is missing', (a) => delete a['validBefore'], 'invalid_payload'],
  ['nonce is another', (a) => (a['nonce'] = newNonce())],
  ['nonce is 31 bytes', (a) => (a['nonce'] = String(a['nonce']).slice(0, -2))],
  ['nonce is 33 bytes', (a) => (a['nonce'] = `${String(a['nonce'])}00`)],
  ['nonce is decimal', (a) => (a['nonce'] = '12345')],
  ['nonce is in upper case', (a) => (a['nonce'] = upperCase(String(a['nonce'])))],
];

/** Changes of the requirements, by what they do to a V2 EIP-3009 payment. */
const REQUIREMENTS: readonly [string, Change, string?][] = [
  ['accepted scheme is another', (b) => (acceptedOf(b)['scheme'] = 'upto')],
  ['accepted network is another', (b) => (acceptedOf(b)['network'] = 'eip155:1')],
  [
    'accepted is only scheme and network',
    (b) => {
      const { scheme, network } = acceptedOf(b);
      b.paymentPayload['accepted'] = { scheme, network };
    },
  ],
  [
    'accepted has another amount and payee',
    (b) => {
      Object.assign(acceptedOf(b), { amount: '7', payTo: newAccount().address });
    },
  ],
  ['accepted is missing', (b) => delete b.paymentPayload['accepted'], 'invalid_payload'],
  ['payload is missing', (b) => delete b.paymentPayload['payload'], 'invalid_payload'],
  ['authorization is missing', (b) => delete payloadOf(b)['authorization'], 'invalid_payload'],
  ['scheme is another', (b) => (b.paymentRequirements['scheme'] = 'upto'), 'unsupported_scheme'],
  ['scheme is unknown', (b) => (b.paymentRequirements['scheme'] = 'barter'), 'unsupported_scheme'],
  [
    'network is not served',
    (b) => (b.paymentRequirements['network'] = 'eip155:1'),
    'invalid_network',
  ],
  [
    'network is of another kind',
    (b) => (b.paymentRequirements['network'] = 'solana:1'),
    'invalid_network',
  ],
  [
    'network is a V1 name',
    (b) => (b.paymentRequirements['network'] = 'base-sepolia'),
    'invalid_network',
  ],
  ['extra is missing', (b) => delete b.paymentRequirements['extra']],
  ['extra is null', (b) => (b.paymentRequirements['extra'] = null)],
  ['extra has no name', (b) => delete extraOf(b)['name']],
  ['extra has no version', (b) => delete extraOf(b)['version']],
  ['extra has an empty name', (b) => (extraOf(b)['name'] = '')],
  ['extra has a number as version', (b) => (extraOf(b)['version'] = 1)],
  ['extra has more fields', (b) => (extraOf(b)['note'] = 'hello')],
  ['extra names another name', (b) => (extraOf(b)['name'] = 'Other')],
  ['extra names permit2', (b) => (extraOf(b)['assetTransferMethod'] = 'permit2')],
  ['payTo is another account', (b) => (b.paymentRequirements['payTo'] = newAccount().address)],
  [
    'payTo is in lower case',
    (b) => {
      b.paymentRequirements['payTo'] = String(b.paymentRequirements['payTo']).toLowerCase();
    },
  ],
  [
    'payTo has a bad checksum',
    (b) => {
      b.paymentRequirements['payTo'] = badChecksum(String(b.paymentRequirements['payTo']));
    },
  ],
  [
    'payTo is not an address',
    (b) => (b.paymentRequirements['payTo'] = 'me'),
    'invalid_payment_requirements',
  ],
  [
    'asset is in lower case',
    (b) => {
      b.paymentRequirements['asset'] = String(b.paymentRequirements['asset']).toLowerCase();
    },
  ],
  [
    'asset is in upper case',
    (b) => {
      b.paymentRequirements['asset'] = upperCase(String(b.paymentRequirements['asset']));
    },
  ],
  [
    'asset is not an address',
    (b) => (b.paymentRequirements['asset'] = '0x'),
    'invalid_payment_requirements',
  ],
  [
    'asset is missing',
    (b) => delete b.paymentRequirements['asset'],
    'invalid_payment_requirements',
  ],
  ['required amount is one more', (b) => (b.paymentRequirements['amount'] = '1001')],
  ['required amount is one less', (b) => (b.paymentRequirements['amount'] = '999')],
  ['required amount is in hex', (b) => (b.paymentRequirements['amount'] = '0x3e8')],
  ['required amount is huge', (b) => (b.paymentRequirements['amount'] = '9'.repeat(90))],
  [
    'required amount is text',
    (b) => (b.paymentRequirements['amount'] = 'x'),
    'invalid_payment_requirements',
  ],
  [
    'required amount is missing',
    (b) => delete b.paymentRequirements['amount'],
    'invalid_payment_requirements',
  ],
  ['required amount is empty', (b) => (b.paymentRequirements['amount'] = '')],
  ['maxTimeoutSeconds is text', (b) => (b.paymentRequirements['maxTimeoutSeconds'] = 'x')],
  ['version is 3', (b) => (b.paymentPayload['x402Version'] = 3), 'invalid_x402_version'],
  ['version is text', (b) => (b.paymentPayload['x402Version'] = '2'), 'invalid_x402_version'],
  ['version is missing', (b) => delete b.paymentPayload['x402Version'], 'invalid_x402_version'],
  ['resource is null', (b) => (b.paymentPayload['resource'] = null)],
  ['extensions are null', (b) => (b.paymentPayload['extensions'] = null)],
];

/** Every payment the two are compared on. */
export async function allCases(stage: Stage): Promise<Case[]> {
  return [
    ...(await eip3009Cases(stage)),
    ...(await contractWalletCases(stage)),
    ...(await v1Cases(stage)),
    ...(await permit2Cases(stage)),
    ...(await sponsoredCases(stage)),
  ];
}

export function changed(name: string, body: Body, change: Change, whenThrown?: string): Case {
  change(body);
  return { name, body, ...(whenThrown !== undefined && { whenThrown }) };
}

async function eip3009Cases(stage: Stage): Promise<Case[]> {
  const { world, payer, payTo } = stage;
  const base = { payer, chainId: world.chainId, token: world.usd, payTo };
  const make = (more: Partial<PaymentOptions> = {}): Promise<Body> =>
    eip3009Body({ ...base, ...more });
  const cases: Case[] = [
    { name: 'eip3009: valid', body: await make() },
    { name: 'eip3009: amount 0', body: await make({ amount: 0n }) },
    { name: 'eip3009: amount beyond 2^53', body: await make({ amount: 10n ** 19n }) },
    { name: 'eip3009: to the zero address', body: await make({ payTo: ZERO }) },
    { name: 'eip3009: to oneself', body: await make({ payTo: payer.address }) },
    {
      name: 'eip3009: not yet valid',
      body: await make({ validAfter: BigInt(nowSeconds() + 100) }),
    },
    {
      name: 'eip3009: valid since a while',
      body: await make({ validAfter: BigInt(nowSeconds() - 600) }),
    },
    { name: 'eip3009: expired', body: await make({ validFor: -10 }) },
    { name: 'eip3009: expires in 3 s', body: await make({ validFor: 3 }) },
    { name: 'eip3009: expires in 30 s', body: await make({ validFor: 30 }) },
    { name: 'eip3009: insufficient balance', body: await make({ payer: stage.poor }) },
    { name: 'eip3009: more than there is', body: await make({ amount: 10n ** 30n }) },
    { name: 'eip3009: nonce used', body: await make({ nonce: stage.usedNonce }) },
    { name: 'eip3009: asset without code', body: await make({ token: newAccount().address }) },
    {
      name: 'eip3009: asset without EIP-3009',
      body: await make({ token: stage.bare, name: 'Bare' }),
    },
    { name: 'eip3009: plain ERC-20', body: await make({ token: world.coin }) },
    { name: 'eip3009: token refuses', body: await make({ token: stage.fickle, name: 'Hostile' }) },
    {
      name: 'eip3009: needs more gas than one settlement may cost',
      body: await make({ token: stage.glutton, name: 'Hostile' }),
    },
    { name: 'eip3009: signed for another name', body: await make({ name: 'Other' }) },
    { name: 'eip3009: signed for another version', body: await make({ version: '9' }) },
    {
      name: 'eip3009: signed for another chain',
      body: await make({ chainId: 1, network: `eip155:${world.chainId}` }),
    },
  ];
  for (const [what, change, whenThrown] of SIGNATURES) {
    const apply: Change = (b) =>
      (payloadOf(b)['signature'] = change(payloadOf(b)['signature'] as Hex));
    cases.push(changed(`eip3009: ${what}`, await make(), apply, whenThrown));
  }
  for (const [what, change, whenThrown] of AUTHORIZATION) {
    const apply: Change = (b) => {
      change(authorizationOf(b));
    };
    cases.push(changed(`eip3009: ${what}`, await make(), apply, whenThrown));
  }
  for (const [what, change, whenThrown] of REQUIREMENTS) {
    cases.push(changed(`eip3009: ${what}`, await make(), change, whenThrown));
  }
  return cases;
}

async function contractWalletCases(stage: Stage): Promise<Case[]> {
  const { world, payTo } = stage;
  const owner = stage.payer;
  const base = { payer: owner, chainId: world.chainId, token: world.usd, payTo };
  const make = (more: Partial<PaymentOptions>): Promise<Body> => eip3009Body({ ...base, ...more });
  const create = (salt: Hex): Hex =>
    encodeFunctionData({
      abi: WALLET_FACTORY,
      functionName: 'create',
      args: [owner.address, salt],
    });
  const wrap =
    (factory: Hex): Change =>
    (b) => {
      const inner = payloadOf(b)['signature'] as Hex;
      payloadOf(b)['signature'] = erc6492(factory, create(newNonce()), inner);
    };
  const undeployed = newAccount().address;
  return [
    { name: 'wallet: signed by its owner', body: await make({ from: stage.wallet }) },
    {
      name: 'wallet: signed by another',
      body: await make({ from: stage.wallet, payer: newAccount() }),
    },
    {
      name: 'wallet: longer signature',
      body: (
        await Promise.resolve(
          changed('', await make({ from: stage.wallet }), (b) => {
            payloadOf(b)['signature'] = `${String(payloadOf(b)['signature'])}00`;
          }),
        )
      ).body,
    },
    { name: 'wallet: burns all gas', body: await make({ from: stage.burningWallet }) },
    {
      name: 'wallet: deployed, with an ERC-6492 wrapper',
      body: changed('', await make({ from: stage.wallet }), wrap(stage.factory)).body,
    },
    {
      name: 'wallet: not deployed, with an ERC-6492 wrapper',
      body: changed('', await make({ from: undeployed }), wrap(stage.factory)).body,
    },
    {
      name: 'wallet: not deployed, with a wrapper of the zero factory',
      body: changed('', await make({ from: undeployed }), wrap(ZERO)).body,
    },
    { name: 'wallet: not deployed', body: await make({ from: undeployed }) },
    {
      name: 'wallet: an account with delegated code signs by its key',
      body: await make({ payer: stage.delegated }),
    },
  ];
}

async function v1Cases(stage: Stage): Promise<Case[]> {
  const { world, payer, payTo, v1Network } = stage;
  const base = { payer, chainId: world.chainId, token: world.usd, payTo, network: v1Network };
  const make = (more: Partial<PaymentOptions> = {}): Promise<Body> =>
    v1Body({ ...base, ...more, network: v1Network });
  const cases: Case[] = [
    { name: 'v1: valid', body: await make() },
    { name: 'v1: expired', body: await make({ validFor: 1 }) },
    { name: 'v1: not yet valid', body: await make({ validAfter: BigInt(nowSeconds() + 50) }) },
    { name: 'v1: insufficient balance', body: await make({ payer: stage.poor }) },
    { name: 'v1: nonce used', body: await make({ nonce: stage.usedNonce }) },
    { name: 'v1: asset without code', body: await make({ token: newAccount().address }) },
    { name: 'v1: asset without EIP-3009', body: await make({ token: stage.bare, name: 'Bare' }) },
    { name: 'v1: signed for another name', body: await make({ name: 'Other' }) },
    { name: 'v1: contract wallet', body: await make({ from: stage.wallet }) },
  ];
  const changes: readonly [string, Change, string?][] = [
    ['payload scheme is another', (b) => (b.paymentPayload['scheme'] = 'upto')],
    ['payload network is another', (b) => (b.paymentPayload['network'] = 'base')],
    ['payload network is unknown', (b) => (b.paymentPayload['network'] = 'atlantis')],
    [
      'payload network is unknown and extra missing',
      (b) => {
        b.paymentPayload['network'] = 'atlantis';
        delete b.paymentRequirements['extra'];
      },
    ],
    [
      'payload network is another and extra missing',
      (b) => {
        b.paymentPayload['network'] = 'base';
        delete b.paymentRequirements['extra'];
      },
    ],
    ['extra is missing', (b) => delete b.paymentRequirements['extra']],
    ['required amount is another', (b) => (b.paymentRequirements['maxAmountRequired'] = '5')],
    [
      'required amount is missing',
      (b) => delete b.paymentRequirements['maxAmountRequired'],
      'invalid_payment_requirements',
    ],
    ['payTo is another', (b) => (b.paymentRequirements['payTo'] = newAccount().address)],
    [
      'network is not served',
      (b) => (b.paymentRequirements['network'] = 'polygon'),
      'invalid_network',
    ],
    ['outputSchema is null', (b) => (b.paymentRequirements['outputSchema'] = null)],
    [
      'a permit2 payload',
      (b) => {
        b.paymentPayload['payload'] = { signature: '0x', permit2Authorization: {} };
      },
      'invalid_payload',
    ],
    ['signature is of nobody', (b) => (payloadOf(b)['signature'] = `0x${'22'.repeat(64)}1c`)],
    [
      'v as 1',
      (b) => {
        const signature = String(payloadOf(b)['signature']);
        payloadOf(b)['signature'] =
          `${signature.slice(0, -2)}${signature.endsWith('1b') ? '00' : '01'}`;
      },
    ],
  ];
  for (const [what, change, whenThrown] of changes) {
    cases.push(changed(`v1: ${what}`, await make(), change, whenThrown));
  }
  return cases;
}

async function permit2Cases(stage: Stage): Promise<Case[]> {
  const { world, payer, payTo } = stage;
  const base = { payer, chainId: world.chainId, token: world.coin, payTo };
  const make = (more: Partial<Permit2Options> = {}): Promise<Body> =>
    permit2Body({ ...base, ...more });
  const hexNonce = await make();
  permit2Of(hexNonce)['nonce'] = toHex(BigInt(String(permit2Of(hexNonce)['nonce'])));
  const cases: Case[] = [
    { name: 'permit2: valid', body: await make() },
    { name: 'permit2: hex nonce', body: hexNonce },
    { name: 'permit2: amount 0', body: await make({ amount: 0n }) },
    { name: 'permit2: nonce used', body: stage.usedPermit2 },
    { name: 'permit2: not approved', body: await make({ payer: stage.unapproved }) },
    { name: 'permit2: insufficient balance', body: await make({ payer: stage.poorApproved }) },
    { name: 'permit2: nothing at all', body: await make({ payer: newAccount() }) },
    { name: 'permit2: expired', body: await make({ validFor: -1 }) },
    { name: 'permit2: expires in 3 s', body: await make({ validFor: 3 }) },
    { name: 'permit2: not yet valid', body: await make({ validAfter: BigInt(nowSeconds() + 60) }) },
    { name: 'permit2: another spender', body: await make({ spender: newAccount().address }) },
    { name: 'permit2: asset without code', body: await make({ token: newAccount().address }) },
    {
      name: 'permit2: signed for another chain',
      body: await make({ chainId: 1, network: `eip155:${world.chainId}` }),
    },
    { name: 'permit2: contract wallet without approval', body: await make({ from: stage.wallet }) },
  ];
  const changes: readonly [string, Change, string?][] = [
    ['accepted scheme is another', (b) => (acceptedOf(b)['scheme'] = 'upto')],
    ['accepted network is another', (b) => (acceptedOf(b)['network'] = 'eip155:1')],
    ['payTo is another', (b) => (b.paymentRequirements['payTo'] = newAccount().address)],
    ['required amount is another', (b) => (b.paymentRequirements['amount'] = '5')],
    ['required asset is another', (b) => (b.paymentRequirements['asset'] = world.usd)],
    ['extra is missing', (b) => delete b.paymentRequirements['extra']],
    ['from is another', (b) => (permit2Of(b)['from'] = newAccount().address)],
    [
      'from has a bad checksum',
      (b) => (permit2Of(b)['from'] = badChecksum(String(permit2Of(b)['from']))),
    ],
    [
      'from is in lower case',
      (b) => (permit2Of(b)['from'] = String(permit2Of(b)['from']).toLowerCase()),
    ],
    [
      'spender is in lower case',
      (b) => (permit2Of(b)['spender'] = String(permit2Of(b)['spender']).toLowerCase()),
    ],
    ['nonce was another', (b) => (permit2Of(b)['nonce'] = '1')],
    ['nonce is above uint256', (b) => (permit2Of(b)['nonce'] = (2n ** 256n).toString())],
    ['nonce is negative', (b) => (permit2Of(b)['nonce'] = '-1')],
    ['deadline was another', (b) => (permit2Of(b)['deadline'] = String(nowSeconds() + 5000))],
    ['deadline is above uint256', (b) => (permit2Of(b)['deadline'] = (2n ** 300n).toString())],
    ['deadline is empty', (b) => (permit2Of(b)['deadline'] = '')],
    ['spender is not an address', (b) => (permit2Of(b)['spender'] = 'x'), 'invalid_payload'],
    ['witness is missing', (b) => delete permit2Of(b)['witness'], 'invalid_payload'],
    ['permitted is missing', (b) => delete permit2Of(b)['permitted'], 'invalid_payload'],
    ['nonce is missing', (b) => delete permit2Of(b)['nonce'], 'invalid_payload'],
    [
      'authorization is null',
      (b) => (payloadOf(b)['permit2Authorization'] = null),
      'invalid_payload',
    ],
  ];
  for (const [what, change, whenThrown] of changes) {
    cases.push(changed(`permit2: ${what}`, await make(), change, whenThrown));
  }
  for (const [what, change, whenThrown] of SIGNATURES) {
    const apply: Change = (b) =>
      (payloadOf(b)['signature'] = change(payloadOf(b)['signature'] as Hex));
    // The reference checks a missing Permit2 signature like a wrong one.
    cases.push(changed(`permit2: ${what}`, await make(), apply, whenThrown));
  }
  return cases;
}

async function sponsoredCases(stage: Stage): Promise<Case[]> {
  const { world, payTo } = stage;
  const base = { payer: stage.payer, chainId: world.chainId, token: world.usd, payTo };
  const make = (more: Partial<Permit2Options> = {}): Promise<Body> =>
    sponsoredBody({ ...base, ...more });
  const changes: readonly [string, Change][] = [
    ['version is text', (b) => (infoOf(b)['version'] = 'one')],
    ['amount is in hex', (b) => (infoOf(b)['amount'] = '0x3e8')],
    ['from is not an address', (b) => (infoOf(b)['from'] = 'me')],
    ['signature is not hex', (b) => (infoOf(b)['signature'] = 'zz')],
    ['deadline is a number', (b) => (infoOf(b)['deadline'] = nowSeconds() + 500)],
    ['from is another', (b) => (infoOf(b)['from'] = newAccount().address)],
    ['asset is another', (b) => (infoOf(b)['asset'] = world.coin)],
    ['spender is another', (b) => (infoOf(b)['spender'] = newAccount().address)],
    ['deadline is near', (b) => (infoOf(b)['deadline'] = String(nowSeconds() + 2))],
    ['amount is another', (b) => (infoOf(b)['amount'] = '5')],
    ['signature is of nobody', (b) => (infoOf(b)['signature'] = `0x${'33'.repeat(64)}1b`)],
    ['signature is short', (b) => (infoOf(b)['signature'] = '0x1234')],
    ['nonce is the number 0', (b) => (infoOf(b)['nonce'] = 0)],
    ['info lacks a field', (b) => delete infoOf(b)['version']],
    [
      'info is null',
      (b) => {
        const extensions = b.paymentPayload['extensions'] as Json;
        extensions['eip2612GasSponsoring'] = { info: null };
      },
    ],
  ];
  const cases: Case[] = [
    { name: 'sponsored: valid', body: await make() },
    { name: 'sponsored: permit of another nonce', body: await make({ permitNonce: 7n } as object) },
    { name: 'sponsored: insufficient balance', body: await make({ payer: stage.poor }) },
    {
      name: 'sponsored: token without permits',
      body: await make({ token: world.coin, payer: stage.unapproved }),
    },
    {
      name: 'sponsored: token without permits, approved before',
      body: await make({ token: world.coin }),
    },
  ];
  for (const [what, change] of changes) {
    cases.push(changed(`sponsored: ${what}`, await make(), change));
  }
  return cases;
}
