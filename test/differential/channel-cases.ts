import { type Abi, encodeFunctionData, getAddress, type Hex, maxUint128, zeroAddress } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { BATCH_SETTLEMENT, PERMIT2_COLLECTOR, sendNow } from '../../sandbox/deploy.js';
import {
  claimBody,
  depositBody,
  refundBody,
  sellerRefundBody,
  settleBody,
  voucherBody,
} from '../support/channel-bodies.js';
import { type ChannelConfig, Channels, eip3009Deposit, ESCROW_ABI } from '../support/channels.js';
import {
  type Body,
  type Json,
  newAccount,
  newNonce,
  nowSeconds,
  withSponsoredPermit,
} from '../support/payments.js';
import type { World } from '../support/world.js';
import { type Case, type Change, changed, payloadOf, SIGNATURES } from './cases.js';

/** Who takes part in the channels of the cases. */
export interface ChannelStage {
  readonly world: World;
  readonly channels: Channels;
  readonly payer: PrivateKeyAccount;
  readonly receiver: PrivateKeyAccount;
  readonly authorizer: PrivateKeyAccount;
}

export async function setChannelStage(world: World): Promise<ChannelStage> {
  const payer = await world.payer({ approves: true });
  await world.approvePermit2(payer, world.usd, 2n ** 255n);
  const [receiver, authorizer] = [newAccount(), newAccount()];
  for (const { address } of [receiver, authorizer]) {
    await world.client.setBalance({ address, value: 10n ** 18n });
  }
  return { world, channels: new Channels(world.chainId), payer, receiver, authorizer };
}

const configOf = (b: Body): Json => payloadOf(b)['channelConfig'] as Json;
const voucherOf = (b: Body): Json => payloadOf(b)['voucher'] as Json;
const extraOf = (b: Body): Json => b.paymentRequirements['extra'] as Json;
const depositOf = (b: Body): Json => payloadOf(b)['deposit'] as Json;
const authorizationsOf = (b: Body): Json => depositOf(b)['authorization'] as Json;
const erc3009Of = (b: Body): Json => authorizationsOf(b)['erc3009Authorization'] as Json;
const permit2Of = (b: Body): Json => authorizationsOf(b)['permit2Authorization'] as Json;
const acceptedOf = (b: Body): Json => b.paymentPayload['accepted'] as Json;

/** For calls whose function is a variable. */
const ESCROW: Abi = ESCROW_ABI;

const PAYLOAD = 'invalid_payload';
const REQUIREMENTS = 'invalid_payment_requirements';

/** Faults of any message that names a channel and carries a voucher. */
const CONFIGS: readonly [string, Change, (string | undefined)?][] = [
  ['scheme is another', (b) => (acceptedOf(b)['scheme'] = 'exact')],
  ['accepted network is another', (b) => (acceptedOf(b)['network'] = 'eip155:1')],
  ['type is unknown', (b) => (payloadOf(b)['type'] = 'gift')],
  ['type is missing', (b) => delete payloadOf(b)['type']],
  ['config is missing', (b) => delete payloadOf(b)['channelConfig']],
  ['voucher is missing', (b) => delete payloadOf(b)['voucher']],
  ['voucher has no signature', (b) => delete voucherOf(b)['signature']],
  ['salt was another', (b) => (configOf(b)['salt'] = newNonce())],
  ['payer was another', (b) => (configOf(b)['payer'] = newAccount().address)],
  ['channelId is another', (b) => (voucherOf(b)['channelId'] = newNonce())],
  ['channelId is short', (b) => (voucherOf(b)['channelId'] = '0x12')],
  ['payTo is another', (b) => (b.paymentRequirements['payTo'] = newAccount().address)],
  ['asset is another', (b) => (b.paymentRequirements['asset'] = newAccount().address)],
  [
    'extra names another authorizer',
    (b) => (extraOf(b)['receiverAuthorizer'] = newAccount().address),
  ],
  ['extra names the zero authorizer', (b) => (extraOf(b)['receiverAuthorizer'] = zeroAddress)],
  ['extra names no authorizer', (b) => delete extraOf(b)['receiverAuthorizer']],
  ['extra names another delay', (b) => (extraOf(b)['withdrawDelay'] = 1000)],
  ['extra names no delay', (b) => delete extraOf(b)['withdrawDelay']],
  ['required amount is another', (b) => (b.paymentRequirements['amount'] = '7')],
  ['total is another', (b) => (voucherOf(b)['maxClaimableAmount'] = '101')],
  ['total is text', (b) => (voucherOf(b)['maxClaimableAmount'] = 'x'), PAYLOAD],
  ['total is negative', (b) => (voucherOf(b)['maxClaimableAmount'] = '-1'), PAYLOAD],
  [
    'total has more than 128 bits',
    (b) => (voucherOf(b)['maxClaimableAmount'] = (maxUint128 + 1n).toString()),
    PAYLOAD,
  ],
  ['delay is text', (b) => (configOf(b)['withdrawDelay'] = 'soon'), PAYLOAD],
  ['receiver is no address', (b) => (configOf(b)['receiver'] = 'me'), PAYLOAD],
  [
    'payTo and total',
    (b) => {
      b.paymentRequirements['payTo'] = newAccount().address;
      voucherOf(b)['maxClaimableAmount'] = '5';
    },
  ],
];

const ERC3009: readonly [string, Change, (string | undefined)?][] = [
  ['amount was another', (b) => (depositOf(b)['amount'] = '1001')],
  ['amount is negative', (b) => (depositOf(b)['amount'] = '-5'), PAYLOAD],
  ['amount is text', (b) => (depositOf(b)['amount'] = 'x'), PAYLOAD],
  ['amount is a number', (b) => (depositOf(b)['amount'] = 1000)],
  [
    'amount has more than 128 bits',
    (b) => (depositOf(b)['amount'] = (maxUint128 + 1n).toString()),
    PAYLOAD,
  ],
  ['salt of the deposit was another', (b) => (erc3009Of(b)['salt'] = newNonce())],
  ['validBefore was another', (b) => (erc3009Of(b)['validBefore'] = String(nowSeconds() + 999))],
  ['validAfter is text', (b) => (erc3009Of(b)['validAfter'] = 'x'), PAYLOAD],
  ['authorization is missing', (b) => delete authorizationsOf(b)['erc3009Authorization']],
  ['authorizations are missing', (b) => delete depositOf(b)['authorization']],
  ['extra has no name', (b) => delete extraOf(b)['name']],
  ['extra has no version', (b) => delete extraOf(b)['version']],
  ['extra names another name', (b) => (extraOf(b)['name'] = 'Other')],
  ['extra names permit2', (b) => (extraOf(b)['assetTransferMethod'] = 'permit2')],
  ['extra names an unknown method', (b) => (extraOf(b)['assetTransferMethod'] = 'barter')],
];

const PERMIT2: readonly [string, Change, (string | undefined)?][] = [
  ['from is another', (b) => (permit2Of(b)['from'] = newAccount().address)],
  ['spender is another', (b) => (permit2Of(b)['spender'] = newAccount().address)],
  ['spender in lower case', (b) => (permit2Of(b)['spender'] = PERMIT2_COLLECTOR.toLowerCase())],
  [
    'token is another',
    (b) => ((permit2Of(b)['permitted'] as Json)['token'] = newAccount().address),
  ],
  ['permitted amount is another', (b) => ((permit2Of(b)['permitted'] as Json)['amount'] = '7')],
  [
    'witness is another channel',
    (b) => ((permit2Of(b)['witness'] as Json)['channelId'] = newNonce()),
  ],
  [
    'witness in upper case',
    (b) => {
      const witness = permit2Of(b)['witness'] as Json;
      witness['channelId'] = `0x${String(witness['channelId']).slice(2).toUpperCase()}`;
    },
  ],
  ['deadline has passed', (b) => (permit2Of(b)['deadline'] = '5')],
  ['deadline was another', (b) => (permit2Of(b)['deadline'] = String(nowSeconds() + 999))],
  ['nonce was another', (b) => (permit2Of(b)['nonce'] = '9')],
  ['nonce is text', (b) => (permit2Of(b)['nonce'] = 'x'), PAYLOAD],
  ['authorization is missing', (b) => delete authorizationsOf(b)['permit2Authorization']],
  ['extra names eip3009', (b) => (extraOf(b)['assetTransferMethod'] = 'eip3009')],
];

/** Channels of one stage, made by what a case needs. */
class Maker {
  readonly #stage: ChannelStage;

  constructor(stage: ChannelStage) {
    this.#stage = stage;
  }

  config(more: Partial<ChannelConfig> = {}): ChannelConfig {
    const { world, payer, receiver, authorizer } = this.#stage;
    return {
      payer: payer.address,
      payerAuthorizer: payer.address,
      receiver: receiver.address,
      receiverAuthorizer: authorizer.address,
      token: getAddress(world.usd),
      withdrawDelay: 900,
      salt: newNonce(),
      ...more,
    };
  }

  /** A channel that holds 1000, of which some is claimed. */
  async opened(claimed = 0n, more: Partial<ChannelConfig> = {}): Promise<ChannelConfig> {
    const { channels, payer, receiver } = this.#stage;
    const config = this.config(more);
    await this.send('deposit', await eip3009Deposit(channels, payer, config, 1000n));
    if (claimed > 0n) {
      await this.send('claim', [[await channels.claim(payer, config, claimed)]], receiver);
    }
    return config;
  }

  async send(
    functionName: 'deposit' | 'claim' | 'refund' | 'initiateWithdraw' | 'settle',
    args: readonly unknown[],
    account?: PrivateKeyAccount,
  ): Promise<void> {
    const { client } = this.#stage.world;
    const data = encodeFunctionData({ abi: ESCROW, functionName, args });
    if (account === undefined) {
      await sendNow(client, { to: BATCH_SETTLEMENT, data });
      return;
    }
    const hash = await client.sendTransaction({ account, chain: null, to: BATCH_SETTLEMENT, data });
    await client.waitForTransactionReceipt({ hash });
  }
}

/** Messages about channels, as they are verified. */
export async function channelCases(stage: ChannelStage): Promise<Case[]> {
  const { world, channels, payer, receiver, authorizer } = stage;
  const maker = new Maker(stage);
  const base = { channels, payer };
  const signed = { channels, signer: payer };
  const permit2 = { method: 'permit2' } as const;
  const other = newAccount();
  const poor = await world.payer({ balance: 10n });
  const used = await depositBody({ ...base, config: maker.config() });
  const usedConfig = configOf(used) as unknown as ChannelConfig;
  await maker.send('deposit', await eip3009Deposit(channels, payer, usedConfig, 1000n));
  const open = await maker.opened();
  const claimed = await maker.opened(400n);
  const closed = await maker.opened();
  await maker.send('refund', [closed, 1000n], receiver);
  const leaving = await maker.opened();
  await maker.send('initiateWithdraw', [leaving, 500n], payer);
  const withVoucherKey = { payerAuthorizer: other.address };
  const keyed = await maker.opened(0n, withVoucherKey);
  const own = await maker.opened(0n, { payerAuthorizer: zeroAddress });

  const deposit = (more: object = {}, config: Partial<ChannelConfig> = {}): Promise<Body> =>
    depositBody({ ...base, config: maker.config(config), ...more });
  const cases: Case[] = [
    { name: 'deposit: valid', body: await deposit() },
    { name: 'deposit: tops up', body: await depositBody({ ...base, config: open, max: 1500n }) },
    {
      name: 'deposit: of a withdrawing channel',
      body: await depositBody({ ...base, config: leaving }),
    },
    { name: 'deposit: of a closed channel', body: await depositBody({ ...base, config: closed }) },
    { name: 'deposit: total of nothing', body: await deposit({ max: 0n }) },
    { name: 'deposit: total of all', body: await deposit({ max: 1000n }) },
    { name: 'deposit: total above the balance', body: await deposit({ max: 1001n }) },
    {
      name: 'deposit: total that is claimed',
      body: await depositBody({ ...base, config: claimed, max: 400n }),
    },
    {
      name: 'deposit: total above what is claimed',
      body: await depositBody({ ...base, config: claimed, max: 401n }),
    },
    { name: 'deposit: of nothing', body: await deposit({ amount: 0n, max: 0n }) },
    {
      name: 'deposit: not yet valid',
      body: await deposit({ validAfter: BigInt(nowSeconds() + 100) }),
    },
    { name: 'deposit: expired', body: await deposit({ validFor: -5 }) },
    { name: 'deposit: expires in 3 s', body: await deposit({ validFor: 3 }) },
    { name: 'deposit: voucher of another', body: await deposit({ voucherSigner: other }) },
    {
      name: 'deposit: voucher of a key of its own',
      body: await deposit({ voucherSigner: other }, withVoucherKey),
    },
    {
      name: 'deposit: no key for vouchers',
      body: await deposit({}, { payerAuthorizer: zeroAddress }),
    },
    {
      name: 'deposit: insufficient balance',
      body: await deposit({ payer: poor }, { payer: poor.address, payerAuthorizer: poor.address }),
    },
    { name: 'deposit: delay too short', body: await deposit({}, { withdrawDelay: 899 }) },
    { name: 'deposit: delay too long', body: await deposit({}, { withdrawDelay: 2_592_001 }) },
    {
      name: 'deposit: token without EIP-3009',
      body: await deposit({}, { token: getAddress(world.coin) }),
    },
    {
      name: 'deposit: token without code',
      body: await deposit({}, { token: newAccount().address }),
    },
    { name: 'permit2 deposit: valid', body: await deposit(permit2) },
    {
      name: 'permit2 deposit: plain token',
      body: await deposit(permit2, { token: getAddress(world.coin) }),
    },
    { name: 'permit2 deposit: expires in 3 s', body: await deposit({ ...permit2, validFor: 3 }) },
    {
      name: 'permit2 deposit: not approved',
      body: await deposit(
        { ...permit2, payer: poor, amount: 5n, max: 5n },
        { payer: poor.address, payerAuthorizer: poor.address },
      ),
    },
    {
      name: 'permit2 deposit: sponsored',
      body: await withSponsoredPermit(
        await deposit(
          { ...permit2, payer: poor, amount: 5n, max: 5n },
          { payer: poor.address, payerAuthorizer: poor.address },
        ),
        {
          payer: poor,
          chainId: world.chainId,
          token: world.usd,
          payTo: receiver.address,
          amount: 5n,
        },
      ),
    },
    {
      name: 'permit2 deposit: sponsored for another amount',
      body: await withSponsoredPermit(
        await deposit(
          { ...permit2, payer: poor, amount: 5n, max: 5n },
          { payer: poor.address, payerAuthorizer: poor.address },
        ),
        {
          payer: poor,
          chainId: world.chainId,
          token: world.usd,
          payTo: receiver.address,
          amount: 6n,
        },
      ),
    },
    { name: 'voucher: valid', body: await voucherBody({ ...signed, config: open }) },
    { name: 'voucher: of all', body: await voucherBody({ ...signed, config: open, max: 1000n }) },
    {
      name: 'voucher: above the balance',
      body: await voucherBody({ ...signed, config: open, max: 1001n }),
    },
    { name: 'voucher: of nothing', body: await voucherBody({ ...signed, config: open, max: 0n }) },
    {
      name: 'voucher: that is claimed',
      body: await voucherBody({ ...signed, config: claimed, max: 400n }),
    },
    {
      name: 'voucher: below what is claimed',
      body: await voucherBody({ ...signed, config: claimed, max: 399n }),
    },
    {
      name: 'voucher: above what is claimed',
      body: await voucherBody({ ...signed, config: claimed, max: 401n }),
    },
    {
      name: 'voucher: of a withdrawing channel',
      body: await voucherBody({ ...signed, config: leaving }),
    },
    {
      name: 'voucher: of a closed channel',
      body: await voucherBody({ ...signed, config: closed }),
    },
    {
      name: 'voucher: of no channel',
      body: await voucherBody({ ...signed, config: maker.config() }),
    },
    {
      name: 'voucher: of a key of its own',
      body: await voucherBody({ channels, signer: other, config: keyed }),
    },
    {
      name: 'voucher: by the payer instead of its key',
      body: await voucherBody({ ...signed, config: keyed }),
    },
    { name: 'voucher: no key for vouchers', body: await voucherBody({ ...signed, config: own }) },
    {
      name: 'voucher: no key for vouchers, by another',
      body: await voucherBody({ channels, signer: other, config: own }),
    },
    { name: 'refund: valid', body: await refundBody({ ...signed, config: open }) },
    {
      name: 'refund: that is claimed',
      body: await refundBody({ ...signed, config: claimed, max: 400n }),
    },
    {
      name: 'refund: below what is claimed',
      body: await refundBody({ ...signed, config: claimed, max: 399n }),
    },
    {
      name: 'refund: of no channel',
      body: await refundBody({ ...signed, config: maker.config() }),
    },
    {
      name: 'claim: to be verified',
      body: await claimBody(channels, authorizer, [await channels.claim(payer, open, 10n)]),
    },
    { name: 'settle: to be verified', body: settleBody(channels, receiver.address, world.usd) },
  ];
  const voucher = (): Promise<Body> => voucherBody({ ...signed, config: open });
  const add = async (
    group: string,
    make: () => Promise<Body>,
    changes: readonly [string, Change, (string | undefined)?][],
  ): Promise<void> => {
    for (const [what, change, whenThrown] of changes) {
      cases.push(changed(`${group}: ${what}`, await make(), change, whenThrown));
    }
  };
  const signatures = (
    of: (body: Body) => Json,
  ): readonly [string, Change, (string | undefined)?][] =>
    SIGNATURES.map(([what, change, whenThrown]) => [
      what,
      (b) => (of(b)['signature'] = change(of(b)['signature'] as Hex)),
      whenThrown,
    ]);
  await add('voucher', voucher, [...CONFIGS, ...signatures(voucherOf)]);
  await add('deposit', deposit, [...CONFIGS, ...ERC3009, ...signatures(erc3009Of)]);
  await add('permit2 deposit', () => deposit(permit2), [...PERMIT2, ...signatures(permit2Of)]);
  return cases;
}

/** Messages about channels, as they are settled: each facilitator has channels of its own. */
export async function channelSettles(stage: ChannelStage): Promise<Case[]> {
  const { world, channels, payer, receiver, authorizer } = stage;
  const maker = new Maker(stage);
  const other = newAccount();
  const signed = { channels, signer: payer, authorizer };
  const claim = async (config: ChannelConfig, total: bigint, max = total): Promise<Body> =>
    claimBody(channels, authorizer, [await channels.claim(payer, config, total, max)]);
  const deposited = (config: ChannelConfig, more: object = {}): Promise<Body> =>
    depositBody({ channels, payer, config, ...more });
  const open = (claimed?: bigint): Promise<ChannelConfig> => maker.opened(claimed);
  const lone = newAccount();
  const forRefund = await open(300n);
  const cases: Case[] = [
    { name: 'deposit: valid', body: await deposited(maker.config()) },
    { name: 'deposit: tops up', body: await deposited(await open(), { max: 1200n }) },
    { name: 'deposit: by Permit2', body: await deposited(maker.config(), { method: 'permit2' }) },
    {
      name: 'deposit: for another amount of the call',
      body: changed(
        '',
        await deposited(maker.config()),
        (b) => (b.paymentRequirements['amount'] = '7'),
      ).body,
    },
    {
      name: 'deposit: voucher of another',
      body: await deposited(maker.config(), { voucherSigner: other }),
    },
    { name: 'deposit: expired', body: await deposited(maker.config(), { validFor: -5 }) },
    {
      name: 'voucher: to be settled',
      body: await voucherBody({ ...signed, config: await open() }),
    },
    {
      name: 'refund: as the buyer sends it',
      body: await refundBody({ ...signed, config: await open() }),
    },
    { name: 'claim: valid', body: await claim(await open(), 100n) },
    { name: 'claim: less than was signed', body: await claim(await open(), 100n, 200n) },
    { name: 'claim: above what was signed', body: await claim(await open(), 200n, 100n) },
    { name: 'claim: above the balance', body: await claim(await open(), 1001n) },
    { name: 'claim: that is claimed', body: await claim(await open(400n), 400n) },
    { name: 'claim: below what is claimed', body: await claim(await open(400n), 300n) },
    {
      name: 'claim: in part claimed',
      body: await claimBody(channels, authorizer, [
        await channels.claim(payer, await open(400n), 400n),
        await channels.claim(payer, await open(), 50n),
      ]),
    },
    {
      name: 'claim: one bad row of two',
      body: await claimBody(channels, authorizer, [
        await channels.claim(payer, await open(), 50n),
        await channels.claim(other, await open(), 50n),
      ]),
    },
    {
      name: 'claim: signed by another',
      body: await claimBody(channels, other, [await channels.claim(payer, await open(), 50n)]),
    },
    {
      name: 'claim: unsigned',
      body: changed(
        '',
        await claim(await open(), 10n),
        (b) => delete payloadOf(b)['claimAuthorizerSignature'],
      ).body,
    },
    {
      name: 'claim: of no rows',
      body: changed('', await claim(await open(), 10n), (b) => (payloadOf(b)['claims'] = [])).body,
    },
    changed(
      'claim: rows are no list',
      await claim(await open(), 10n),
      (b) => (payloadOf(b)['claims'] = 'x'),
      PAYLOAD,
    ),
    changed(
      'claim: rows are missing',
      await claim(await open(), 10n),
      (b) => delete payloadOf(b)['claims'],
    ),
    changed(
      'claim: total is text',
      await claim(await open(), 10n),
      (b) => {
        for (const row of payloadOf(b)['claims'] as Json[]) row['totalClaimed'] = 'x';
      },
      PAYLOAD,
    ),
    { name: 'settle: what is due', body: settleBody(channels, receiver.address, world.usd) },
    {
      name: 'settle: where nothing is due',
      body: settleBody(channels, receiver.address, world.usd),
    },
    { name: 'settle: of a stranger', body: settleBody(channels, lone.address, world.usd) },
    changed(
      'settle: receiver is no address',
      settleBody(channels, lone.address, world.usd),
      (b) => (payloadOf(b)['receiver'] = 'me'),
      PAYLOAD,
    ),
    changed(
      'settle: token is missing',
      settleBody(channels, lone.address, world.usd),
      (b) => delete payloadOf(b)['token'],
    ),
    {
      name: 'refund: all',
      body: await sellerRefundBody({ ...signed, config: await open(), amount: 1000n }),
    },
    {
      name: 'refund: a part',
      body: await sellerRefundBody({ ...signed, config: forRefund, amount: 200n }),
    },
    {
      name: 'refund: a stale nonce',
      body: await sellerRefundBody({ ...signed, config: forRefund, amount: 100n }),
    },
    {
      name: 'refund: more than is free',
      body: await sellerRefundBody({ ...signed, config: await open(300n), amount: 5000n }),
    },
    {
      name: 'refund: where nothing is free',
      body: await sellerRefundBody({ ...signed, config: await open(1000n), amount: 5n }),
    },
    {
      name: 'refund: of nothing',
      body: await sellerRefundBody({ ...signed, config: await open(), amount: 0n }),
    },
    {
      name: 'refund: a nonce to come',
      body: await sellerRefundBody({ ...signed, config: await open(), amount: 5n, nonce: 4n }),
    },
    {
      name: 'refund: of no channel',
      body: await sellerRefundBody({ ...signed, config: maker.config(), amount: 5n }),
    },
    {
      name: 'refund: signed by another',
      body: await sellerRefundBody({
        ...signed,
        authorizer: other,
        config: await open(),
        amount: 5n,
      }),
    },
    {
      name: 'refund: unsigned',
      body: changed(
        '',
        await sellerRefundBody({ ...signed, config: await open(), amount: 5n }),
        (b) => delete payloadOf(b)['refundAuthorizerSignature'],
      ).body,
    },
  ];
  const both = await open();
  const rows = [await channels.claim(payer, both, 100n)];
  cases.push({
    name: 'refund: with a claim',
    body: await sellerRefundBody({ ...signed, config: both, amount: 900n, claims: rows }),
  });
  const again = await open(100n);
  cases.push({
    name: 'refund: with a claim that is claimed',
    body: await sellerRefundBody({
      ...signed,
      config: again,
      amount: 900n,
      claims: [await channels.claim(payer, again, 100n)],
    }),
  });
  cases.push(
    changed(
      'deposit: scheme is unknown',
      await deposited(maker.config()),
      (b) => (b.paymentRequirements['scheme'] = 'gift'),
      'unsupported_scheme',
    ),
    changed(
      'deposit: requirements are no object',
      await deposited(maker.config()),
      (b) => (b.paymentRequirements['payTo'] = 5),
      REQUIREMENTS,
    ),
  );
  return cases;
}
