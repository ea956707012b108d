import type { Address, Hex } from 'viem';
import { SIGNER } from '../../sandbox/accounts.js';
import {
  type Body,
  type Json,
  newAccount,
  nowSeconds,
  uptoBody,
  type UptoOptions,
  withSponsoredPermit,
} from '../support/payments.js';
import {
  type Case,
  type Change,
  changed,
  payloadOf,
  permit2Of,
  SIGNATURES,
  type Stage,
} from './cases.js';

const SHAPE = 'unsupported_payload_type';
const witnessOf = (body: Body): Json => permit2Of(body)['witness'] as Json;
const permittedOf = (body: Body): Json => permit2Of(body)['permitted'] as Json;
const acceptedOf = (body: Body): Json => body.paymentPayload['accepted'] as Json;

/** Payments of the scheme `upto`, as they are verified. */
export async function uptoCases(
  stage: Stage,
  facilitator: Address = SIGNER.address,
): Promise<Case[]> {
  const { world, payer, payTo } = stage;
  const base = { payer, chainId: world.chainId, token: world.coin, payTo };
  const make = (more: Partial<UptoOptions> = {}): Promise<Body> =>
    uptoBody({ ...base, facilitator, ...more });
  const sponsored = async (token: Hex, permitNonce = 0n): Promise<Body> =>
    withSponsoredPermit(await make({ token }), { ...base, token, permitNonce });
  const nonce = BigInt(String(permit2Of(stage.usedPermit2)['nonce']));
  const cases: Case[] = [
    { name: 'upto: valid', body: await make() },
    { name: 'upto: maximum of nothing', body: await make({ amount: 0n }) },
    { name: 'upto: nonce used by a payment of exact', body: await make({ nonce }) },
    { name: 'upto: not approved', body: await make({ payer: stage.unapproved }) },
    { name: 'upto: insufficient balance', body: await make({ payer: stage.poorApproved }) },
    { name: 'upto: nothing at all', body: await make({ payer: newAccount() }) },
    { name: 'upto: expired', body: await make({ validFor: -1 }) },
    { name: 'upto: expires in 3 s', body: await make({ validFor: 3 }) },
    { name: 'upto: not yet valid', body: await make({ validAfter: BigInt(nowSeconds() + 60) }) },
    { name: 'upto: another spender', body: await make({ spender: newAccount().address }) },
    { name: 'upto: another facilitator', body: await make({ facilitator: newAccount().address }) },
    { name: 'upto: asset without code', body: await make({ token: newAccount().address }) },
    {
      name: 'upto: signed for another chain',
      body: await make({ chainId: 1, network: `eip155:${world.chainId}` }),
    },
    { name: 'upto: contract wallet without approval', body: await make({ from: stage.wallet }) },
    { name: 'upto: sponsored', body: await sponsored(world.usd) },
    { name: 'upto: sponsored, permit of another nonce', body: await sponsored(world.usd, 7n) },
    { name: 'upto: sponsored, token without permits', body: await sponsored(world.coin) },
  ];
  const changes: readonly [string, Change, string?][] = [
    ['accepted scheme is another', (b) => (acceptedOf(b)['scheme'] = 'exact')],
    ['accepted network is another', (b) => (acceptedOf(b)['network'] = 'eip155:1')],
    ['payTo is another', (b) => (b.paymentRequirements['payTo'] = newAccount().address)],
    ['required amount is less', (b) => (b.paymentRequirements['amount'] = '999')],
    ['required amount is more', (b) => (b.paymentRequirements['amount'] = '1001')],
    ['required asset is another', (b) => (b.paymentRequirements['asset'] = world.usd)],
    ['extra is missing', (b) => delete b.paymentRequirements['extra']],
    ['from is another', (b) => (permit2Of(b)['from'] = newAccount().address)],
    ['nonce was another', (b) => (permit2Of(b)['nonce'] = '1')],
    ['nonce is above uint256', (b) => (permit2Of(b)['nonce'] = (2n ** 256n).toString())],
    ['nonce is negative', (b) => (permit2Of(b)['nonce'] = '-1')],
    ['nonce is a number', (b) => (permit2Of(b)['nonce'] = 5), SHAPE],
    ['deadline was another', (b) => (permit2Of(b)['deadline'] = String(nowSeconds() + 5000))],
    ['maximum was less', (b) => (permittedOf(b)['amount'] = '10')],
    ['witness.to was another', (b) => (witnessOf(b)['to'] = newAccount().address)],
    [
      'witness.facilitator was another',
      (b) => (witnessOf(b)['facilitator'] = newAccount().address),
    ],
    [
      'witness.facilitator is in lower case',
      (b) => (witnessOf(b)['facilitator'] = facilitator.toLowerCase()),
    ],
    ['witness.validAfter was another', (b) => (witnessOf(b)['validAfter'] = '5')],
    ['witness.facilitator is missing', (b) => delete witnessOf(b)['facilitator'], SHAPE],
    ['witness is missing', (b) => delete permit2Of(b)['witness'], SHAPE],
    ['permitted is missing', (b) => delete permit2Of(b)['permitted'], SHAPE],
    ['authorization is null', (b) => (payloadOf(b)['permit2Authorization'] = null), SHAPE],
    ['spender is not an address', (b) => (permit2Of(b)['spender'] = 'x'), 'invalid_payload'],
    ['required amount is no number', (b) => (b.paymentRequirements['amount'] = 'x'), AMOUNT],
    // Several faults: the first in the order of the checks is named.
    [
      'facilitator and deadline',
      (b) => {
        witnessOf(b)['facilitator'] = newAccount().address;
        permit2Of(b)['deadline'] = '1';
      },
    ],
    [
      'deadline and amount',
      (b) => {
        permit2Of(b)['deadline'] = '1';
        b.paymentRequirements['amount'] = '1';
      },
    ],
    [
      'amount and token',
      (b) => {
        b.paymentRequirements['amount'] = '1';
        b.paymentRequirements['asset'] = world.usd;
      },
    ],
  ];
  for (const [what, change, whenThrown] of changes) {
    cases.push(changed(`upto: ${what}`, await make(), change, whenThrown));
  }
  for (const [what, change, whenThrown] of SIGNATURES) {
    const apply: Change = (b) =>
      (payloadOf(b)['signature'] = change(payloadOf(b)['signature'] as Hex));
    cases.push(changed(`upto: ${what}`, await make(), apply, whenThrown));
  }
  return cases;
}

/** What a seller may ask to be settled of a maximum of 1000. */
const CHARGES: readonly string[] = [
  '1000',
  '999',
  '500',
  '1',
  '0',
  '00',
  '0500',
  '1001',
  '2000',
  '-1',
  '1.5',
  '1e2',
  '0x1f4',
  '',
  ' ',
  ' 500',
  '500 ',
  '+500',
  'abc',
  '٥٠٠',
  (2n ** 256n).toString(),
  'NaN',
  'Infinity',
];

/** Payments of the scheme `upto`, each to be settled for another amount. */
export async function uptoCharges(stage: Stage, facilitator: Address): Promise<Case[]> {
  const { world, payer, payTo } = stage;
  const base = { payer, chainId: world.chainId, token: world.coin, payTo, facilitator };
  const charged = CHARGES.map(async (amount) => ({
    name: `upto: charged '${amount}' of 1000`,
    body: await uptoBody({ ...base, charged: amount }),
  }));
  return Promise.all(charged);
}

const AMOUNT = 'invalid_payment_requirements';
