import { describe, expect, it } from '@jest/globals';
import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  parseAbi,
  parseAbiParameters,
  serializeErc6492Signature,
} from 'viem';
import {
  aChannelChain,
  aChannelPayment,
  aContext,
  AUTHORIZER,
  bodyOf,
  buyer,
  channelIdOf as channelIdByViem,
  COLLECTORS,
  CONFIG,
  type Config,
  ESCROW,
  NOW,
  SELLER,
  type Sent,
  stranger,
  TOKEN,
  type Type,
  type World,
} from '../../../../test/builders/protocol/schemes/batch-settlement/channel.js';
import { addressWord, uintWord } from '../../evm/abi-words.js';
import { selectorOf } from '../../evm/calls.js';
import type { Settlement } from '../../evm/chain-reader.js';
import { DEFAULT_SCHEME_CONTRACTS } from '../../evm/contracts.js';
import { AUTHORIZATION_USED_TOPIC, DEPOSITED_TOPIC, type ReceiptLog } from '../../evm/logs.js';
import type { AcceptedPayment } from '../../payment/accepted-payment.js';
import { decodePayment, encodePayment } from '../../payment/accepted-payment-codec.js';
import { identityOf, termsOf } from '../../payment/identity.js';
import { parsePayment, readEnvelope } from '../../payment/parse-payment.js';
import { callOf, settlementOf } from '../../payment/payment-facts.js';
import { creditLogs } from '../credit.js';
import { presentedAuthorizations } from '../presented.js';
import type { Verdict } from '../verdict.js';
import type { VoucherClaim } from './claims.js';
import { DEPOSIT, depositNonceOf } from './escrow.js';
import { readChannelClaim, whyUnreadable } from './read-claim.js';
import { verifyDeposit } from './verify-deposit.js';
import { verifyVoucher } from './verify-voucher.js';

const BS = 'invalid_batch_settlement_evm_';
const ID = channelIdByViem(CONFIG);
const EXTRA = {
  channelId: ID,
  balance: '500',
  totalClaimed: '100',
  withdrawRequestedAt: 0,
  refundNonce: '3',
};

async function verdictOf(
  type: Type,
  sent: Sent = {},
  world: World = {},
  scope: 'full' | 'terms' = 'full',
): Promise<{ verdict: Verdict; simulated: readonly Settlement[] }> {
  const { chain, simulated } = aChannelChain(world);
  const context = aContext(chain);
  const { payment, claim } = await aChannelPayment(type, sent);
  const verdict =
    'amount' in claim
      ? await verifyDeposit(payment, claim, context, scope)
      : await verifyVoucher(payment, claim, context);
  return { verdict, simulated };
}

async function reasonOf(type: Type, sent: Sent = {}, world: World = {}): Promise<string> {
  const { verdict } = await verdictOf(type, sent, world);
  return verdict.isValid ? 'valid' : verdict.reason.replace(BS, 'BS:');
}

/** The other spelling of the same signature: `s` in the upper half of the order. */
function withHighS(signature: Hex): Hex {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const s = order - BigInt(`0x${signature.slice(66, 130)}`);
  const v = signature.endsWith('1b') ? '1c' : '1b';
  return `${signature.slice(0, 66)}${uintWord(s)}${v}` as Hex;
}

async function voucherSignature(): Promise<Hex> {
  const { payload } = await bodyOf('voucher');
  const { voucher } = payload['payload'] as { voucher: { signature: Hex } };
  return voucher.signature;
}

describe('a message about a channel', () => {
  const read = async (type: Type, sent: Sent) => {
    const { payload, requirements } = await bodyOf(type, sent);
    return readChannelClaim(payload, requirements) ?? whyUnreadable(payload, 'verify');
  };

  it.each<[string, Type, Sent, string]>([
    ['of another type', 'voucher', { payload: { type: 'pay' } }, `${BS}payload_type`],
    ['of no type', 'voucher', { payload: { type: undefined } }, `${BS}payload_type`],
    ['without a channel', 'voucher', { payload: { channelConfig: null } }, 'invalid_payload'],
    ['without a voucher', 'refund', { payload: { voucher: [] } }, `${BS}payload_type`],
    ['without a deposit', 'eip3009', { payload: { deposit: undefined } }, `${BS}payload_type`],
    ['with nothing to put in', 'eip3009', { amount: 0n }, 'invalid_payload'],
    ['with a token name as salt', 'eip3009', { signed: { salt: '0x12' } }, 'invalid_payload'],
    ['with a witness of nothing', 'permit2', { signed: { witness: {} } }, 'invalid_payload'],
  ])('%s is refused', async (_, type, sent, reason) => {
    // The builder signs first, and cannot sign over a malformed field.
    const unsigned = type === 'voucher' || type === 'refund' ? {} : { deposit: '0x12' as Hex };
    expect(await read(type, { ...unsigned, ...sent })).toBe(reason);
  });

  it.each(['-1', '1e3', '', String(2n ** 128n)])('may not be for %s', async (number) => {
    const voucher = { channelId: ID, maxClaimableAmount: number, signature: '0x' };
    expect(await read('voucher', { payload: { voucher } })).toBe('invalid_payload');
    const { payload } = await bodyOf('eip3009');
    const { deposit } = payload['payload'] as { deposit: object };
    const more = { payload: { deposit: { ...deposit, amount: number } } };
    expect(await read('eip3009', more)).toBe('invalid_payload');
  });

  it('may be for as much as the contract can hold', async () => {
    const most = String(2n ** 128n - 1n);
    const voucher = { channelId: ID, maxClaimableAmount: most, signature: '0x' };
    expect(await read('voucher', { payload: { voucher } })).toMatchObject({
      method: 'channel-voucher',
      voucher: { maxClaimable: 2n ** 128n - 1n },
    });
  });
});

describe('a voucher', () => {
  it('is good, with what the channel holds', async () => {
    const { verdict } = await verdictOf('voucher');
    expect(verdict).toMatchObject({ isValid: true, extra: EXTRA });
    const state = { withdrawRequestedAt: 1_799_999_000, refundNonce: 2n ** 200n };
    expect((await verdictOf('voucher', {}, state)).verdict).toMatchObject({
      extra: { withdrawRequestedAt: 1_799_999_000, refundNonce: String(2n ** 200n) },
    });
  });

  it.each<[string, Sent, string]>([
    ['of another scheme', { accepted: { scheme: 'exact' } }, 'BS:scheme'],
    ['for another network', { accepted: { network: 'eip155:97' } }, 'BS:network_mismatch'],
    ['of another channel', { channelId: `0x${'1'.repeat(64)}` }, 'BS:channel_id_mismatch'],
    ['for another payee', { requirements: { payTo: TOKEN } }, 'BS:receiver_mismatch'],
    [
      'with another authorizer',
      { extra: { receiverAuthorizer: SELLER } },
      'BS:receiver_authorizer_mismatch',
    ],
    [
      'of an offer without one',
      { extra: { receiverAuthorizer: undefined } },
      'BS:receiver_authorizer_mismatch',
    ],
    [
      'with the zero address for one',
      {
        config: { receiverAuthorizer: `0x${'0'.repeat(40)}` },
        extra: { receiverAuthorizer: `0x${'0'.repeat(40)}` },
      },
      'BS:receiver_authorizer_mismatch',
    ],
    ['of another token', { requirements: { asset: SELLER } }, 'BS:token_mismatch'],
    ['with another delay', { extra: { withdrawDelay: 901 } }, 'BS:withdraw_delay_mismatch'],
    ['with a delay of text', { extra: { withdrawDelay: 'x' } }, 'BS:withdraw_delay_mismatch'],
    [
      'that can be left too soon',
      { config: { withdrawDelay: 899 }, extra: { withdrawDelay: 899 } },
      'BS:withdraw_delay_out_of_range',
    ],
    [
      'that cannot be left for too long',
      { config: { withdrawDelay: 2_592_001 }, extra: { withdrawDelay: undefined } },
      'BS:withdraw_delay_out_of_range',
    ],
    ['signed by the buyer itself', { voucher: buyer }, 'BS:voucher_signature'],
    ['signed by a stranger', { voucher: stranger }, 'BS:voucher_signature'],
    ['that is not signed', { voucher: '0x' }, 'BS:voucher_signature'],
    ['above what is in the channel', { max: 501n }, 'BS:cumulative_exceeds_balance'],
    ['for what was claimed', { max: 100n }, 'BS:cumulative_below_claimed'],
    ['for all that is in the channel', { max: 500n }, 'valid'],
    ['for one more than was claimed', { max: 101n }, 'valid'],
    ['of an offer that names no delay', { extra: { withdrawDelay: undefined } }, 'valid'],
  ])('%s', async (_, sent, reason) => {
    expect(await reasonOf('voucher', sent)).toBe(reason);
  });

  it('is refused in a spelling of its signature that the contract does not take', async () => {
    const good = await voucherSignature();
    const v = good.endsWith('1b') ? '00' : '01';
    expect(await reasonOf('voucher', { voucher: good })).toBe('valid');
    expect(await reasonOf('voucher', { voucher: withHighS(good) })).toBe('BS:voucher_signature');
    const withV = `${good.slice(0, -2)}${v}` as Hex;
    expect(await reasonOf('voucher', { voucher: withV })).toBe('BS:voucher_signature');
    expect(await reasonOf('voucher', { voucher: `${good}00` })).toBe('BS:voucher_signature');
  });

  it('is signed by the payer where no key is named, as a key or as a contract', async () => {
    const config: Partial<Config> = { payerAuthorizer: `0x${'0'.repeat(40)}` };
    expect(await reasonOf('voucher', { config, voucher: buyer })).toBe('valid');
    expect(await reasonOf('voucher', { config })).toBe('BS:voucher_signature');
    const anything = { config, voucher: '0x1234' as const };
    expect(await reasonOf('voucher', anything, { wallet: true })).toBe('valid');
    // A contract that has a key of its own is asked all the same.
    const keyed = { config, voucher: buyer };
    expect(await reasonOf('voucher', keyed, { wallet: false })).toBe('BS:voucher_signature');
    // A named key is asked of no contract.
    expect(await reasonOf('voucher', {}, { wallet: false })).toBe('valid');
  });

  it.each<[string, World, string]>([
    ['of an empty channel', { balance: 0n, totalClaimed: 0n }, 'BS:channel_not_found'],
    ['on a chain without the contract', { missing: ESCROW }, 'unsupported_scheme'],
    ['of a channel that cannot be read', { isSilent: true }, 'BS:rpc_read_failed'],
  ])('%s is refused', async (_, world, reason) => {
    expect(await reasonOf('voucher', {}, world)).toBe(reason);
  });

  it.each<Type>(['voucher', 'refund'])('of a %s runs no code of its token', async (type) => {
    const { chain } = aChannelChain();
    const asked: string[] = [];
    const call: typeof chain.call = (one, gas) => {
      asked.push(one.to, one.data);
      return chain.call(one, gas);
    };
    const { payment, claim } = await aChannelPayment(type);
    const verdict = await verifyVoucher(
      payment,
      claim as VoucherClaim,
      aContext({ ...chain, call }),
    );
    expect([verdict.isValid, asked.length]).toEqual([true, 2]);
    expect(asked.join()).not.toContain(TOKEN.slice(2));
  });

  it('is enough for a refund where all of it was claimed', async () => {
    expect(await reasonOf('refund', { max: 100n })).toBe('valid');
    expect(await reasonOf('refund', { max: 99n })).toBe('BS:cumulative_below_claimed');
  });
});

/** A signature of a wallet that its factory has yet to make (ERC-6492). */
const TO_BE_MADE = serializeErc6492Signature({
  address: SELLER,
  data: '0x12',
  signature: '0x1234',
});
const METHODS = ['eip3009', 'permit2'] as const;

describe.each(METHODS)('a deposit by %s', (type) => {
  const isEip3009 = type === 'eip3009';

  it('is good, with the channel as it is before, and as a call that fills the escrow', async () => {
    const { verdict, simulated } = await verdictOf(type, { max: 1500n });
    expect(verdict).toMatchObject({ isValid: true, payerHasCode: false, extra: EXTRA });
    expect(simulated).toHaveLength(1);
    expect(simulated[0]).toMatchObject({
      token: TOKEN.toLowerCase(),
      payer: buyer.address.toLowerCase(),
      payTo: ESCROW.toLowerCase(),
      amount: 1000n,
    });
    const { payload } = await bodyOf(type, { max: 1500n });
    const { deposit } = payload['payload'] as { deposit: { authorization: object } };
    const [sent] = Object.values(deposit.authorization) as [Record<string, string>];
    const number = (name: string): bigint => BigInt(sent[name] ?? -1);
    const signature = sent['signature'] as Hex;
    const data = isEip3009
      ? encodeAbiParameters(parseAbiParameters('uint256, uint256, uint256, bytes'), [
          number('validAfter'),
          number('validBefore'),
          number('salt'),
          signature,
        ])
      : encodeAbiParameters(parseAbiParameters('uint256, uint256, bytes, bytes'), [
          number('nonce'),
          number('deadline'),
          signature,
          '0x',
        ]);
    const abi = parseAbi([
      'struct Config { address payer; address payerAuthorizer; address receiver; address receiverAuthorizer; address token; uint40 withdrawDelay; bytes32 salt; }',
      'function deposit(Config config, uint128 amount, address collector, bytes collectorData)',
    ]);
    const args = [CONFIG, 1000n, COLLECTORS[type], data] as const;
    expect(simulated[0]?.call).toEqual({
      to: ESCROW.toLowerCase(),
      data: encodeFunctionData({ abi, args }).toLowerCase(),
    });
  });

  it.each<[string, Sent, World, string]>([
    ['for another payee', { requirements: { payTo: TOKEN } }, {}, 'BS:receiver_mismatch'],
    ['with an unknown hint', { extra: { assetTransferMethod: 'x' } }, {}, 'BS:payload_type'],
    ['with the hint', { extra: { assetTransferMethod: type } }, {}, 'valid'],
    [
      'signed by a stranger',
      { deposit: stranger },
      {},
      isEip3009 ? 'BS:receive_authorization_signature' : 'BS:permit2_invalid_signature',
    ],
    ['with a voucher of a stranger', { voucher: stranger }, {}, 'BS:voucher_signature'],
    ['of more than its payer has', {}, { payerBalance: 999n }, 'BS:insufficient_balance'],
    ['with a voucher above both', { max: 1501n }, {}, 'BS:cumulative_exceeds_balance'],
    ['with a voucher for what was claimed', { max: 100n }, {}, 'BS:cumulative_below_claimed'],
    ['into a channel that is new', {}, { balance: 0n, totalClaimed: 0n }, 'valid'],
    ['that cannot be read', {}, { isSilent: true }, 'BS:rpc_read_failed'],
    [
      'that reverts',
      {},
      { effect: { status: 'reverted', data: '0x' } },
      'BS:deposit_simulation_failed',
    ],
    ['that moves nothing', {}, { effect: { status: 'unpaid' } }, 'BS:deposit_simulation_failed'],
    ['where no collector is', {}, { missing: COLLECTORS[type] }, 'unsupported_scheme'],
    ['of no token', {}, { missing: TOKEN }, 'asset_not_deployed_contract'],
  ])('%s', async (_, sent, world, reason) => {
    expect(await reasonOf(type, sent, world)).toBe(reason);
  });

  it('is believed of a contract only as the contract says', async () => {
    const sent = { deposit: '0x1234' } as const;
    expect(await reasonOf(type, sent, { wallet: true })).toBe('valid');
    expect(await reasonOf(type, {}, { wallet: false })).toMatch(/signature$/);
  });

  it('is judged by its terms alone where it is on its way, its voucher with it', async () => {
    const used: World = { payerBalance: 0n, balance: 1500n, effect: { status: 'unpaid' } };
    const terms = async (sent: Sent) => {
      const { verdict } = await verdictOf(type, sent, used, 'terms');
      return verdict.isValid ? 'valid' : verdict.reason;
    };
    expect(await terms({})).toBe('valid');
    expect(await terms({ voucher: stranger })).toBe(`${BS}voucher_signature`);
    expect(await terms({ deposit: stranger })).toMatch(/signature$/);
  });
});

describe('a deposit', () => {
  it.each<[string, Type, Sent, World, string]>([
    [
      'without the hinted EIP-3009',
      'permit2',
      { extra: { assetTransferMethod: 'eip3009' } },
      {},
      'BS:erc3009_authorization_required',
    ],
    [
      'without the hinted permit',
      'eip3009',
      { extra: { assetTransferMethod: 'permit2' } },
      {},
      'BS:payload_type',
    ],
    ['without a domain', 'eip3009', { extra: { name: undefined } }, {}, 'BS:missing_eip712_domain'],
    [
      'too late',
      'eip3009',
      { signed: { validBefore: String(NOW + 5) } },
      {},
      'BS:payload_authorization_valid_before',
    ],
    ['in time', 'eip3009', { signed: { validBefore: String(NOW + 6) } }, {}, 'valid'],
    [
      'too early',
      'eip3009',
      { signed: { validAfter: String(NOW + 1) } },
      {},
      'BS:payload_authorization_valid_after',
    ],
    [
      'of a wallet to be made',
      'eip3009',
      { deposit: TO_BE_MADE },
      {},
      'BS:eip6492_factory_not_allowed',
    ],
    [
      'from another payer',
      'permit2',
      { signed: { from: SELLER } },
      {},
      'BS:permit2_invalid_signature',
    ],
    [
      'through another spender',
      'permit2',
      { signed: { spender: COLLECTORS.eip3009 } },
      {},
      'BS:permit2_invalid_spender',
    ],
    [
      'of another token',
      'permit2',
      { signed: { permitted: { token: SELLER, amount: '1000' } } },
      {},
      'BS:token_mismatch',
    ],
    [
      'of another amount',
      'permit2',
      { signed: { permitted: { token: TOKEN, amount: '1001' } } },
      {},
      'BS:permit2_amount_mismatch',
    ],
    [
      'for another channel',
      'permit2',
      { signed: { witness: { channelId: `0x${'1'.repeat(64)}` } } },
      {},
      'BS:channel_id_mismatch',
    ],
    [
      'after its deadline',
      'permit2',
      { signed: { deadline: String(NOW + 5) } },
      {},
      'BS:permit2_deadline_expired',
    ],
    ['above the approval', 'permit2', {}, { allowance: 999n }, 'BS:permit2_allowance_required'],
  ])('%s', async (_, type, sent, world, reason) => {
    expect(await reasonOf(type, sent, world)).toBe(reason);
  });

  it('brings its approval to Permit2 by an EIP-2612 permit of the same amount', async () => {
    const info = {
      from: buyer.address,
      asset: TOKEN,
      spender: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
      amount: '1000',
      nonce: '0',
      deadline: String(NOW + 600),
      signature: `0x${'11'.repeat(64)}1b`,
      version: '1',
    };
    const extensions = { eip2612GasSponsoring: { info } };
    const { verdict, simulated } = await verdictOf('permit2', { extensions }, { allowance: 0n });
    expect(verdict.isValid).toBe(true);
    const permit = encodeAbiParameters(
      parseAbiParameters('uint256, uint256, uint8, bytes32, bytes32'),
      [1000n, BigInt(NOW + 600), 27, `0x${'11'.repeat(32)}`, `0x${'11'.repeat(32)}`],
    );
    expect(simulated[0]?.call.data).toContain(permit.slice(2));
    const other = { eip2612GasSponsoring: { info: { ...info, amount: '1001' } } };
    expect(await reasonOf('permit2', { extensions: other })).toBe('BS:eip2612_amount_mismatch');
    const stale = { eip2612GasSponsoring: { info: { ...info, deadline: '1' } } };
    expect(await reasonOf('permit2', { extensions: stale })).toBe('eip2612_deadline_expired');
  });
});

describe('a deposit that is settled', () => {
  const parsed = async (type: Type, sent: Sent = {}) => {
    const { payload, requirements } = await bodyOf(type, sent);
    const envelope = readEnvelope({ paymentPayload: payload, paymentRequirements: requirements });
    if (envelope === undefined) throw new Error('no envelope');
    const read = parsePayment(envelope, [2], () => true, 'verify');
    if (!read.ok) throw new Error(read.reason);
    return read.payment;
  };
  const accepted = async (type: Type, sent: Sent = {}): Promise<AcceptedPayment> => {
    const { verdict } = await verdictOf(type, sent);
    if (!verdict.isValid) throw new Error(verdict.reason);
    const { authorization, payerHasCode } = verdict;
    const { requirements } = await parsed(type, sent);
    const { chainId, asset, payTo, amount } = requirements;
    const names = { tokenName: 'USD', tokenVersion: '1' };
    return { chainId, asset, payTo, amount, authorization, payerHasCode, ...names };
  };

  it('has the function and the event of the contract', () => {
    expect(DEPOSIT).toBe('140f1e75');
    expect(selectorOf('channels(bytes32)')).toBe('7a7ebd7b');
    expect(DEPOSITED_TOPIC).toBe(
      '0x6c2a09353b5e75e70d0b9778b80a413809bb235d46c211811c474b3346791d89',
    );
  });

  it('is for what it puts in, whatever one call costs', async () => {
    expect((await parsed('eip3009')).requirements.amount).toBe(1000n);
    expect((await parsed('permit2', { amount: 7n })).requirements.amount).toBe(7n);
    expect((await parsed('voucher')).requirements.amount).toBe(0n);
    expect((await parsed('voucher')).payerAsSent).toBe(buyer.address);
  });

  it.each(METHODS)('by %s is one settlement whatever voucher it comes with', async (type) => {
    const identity = identityOf(await parsed(type));
    const other = identityOf(await parsed(type, { max: 450n }));
    expect(other?.authorizationId).toBe(identity?.authorizationId);
    expect(other?.termsTag).toBe(identity?.termsTag);
    expect(other?.signedTag).not.toBe(identity?.signedTag);
    const more = identityOf(await parsed(type, { amount: 1001n }));
    expect(more?.authorizationId).toBe(identity?.authorizationId);
    expect(more?.termsTag).not.toBe(identity?.termsTag);
    const elsewhere = identityOf(await parsed(type, { config: { salt: `0x${'6b'.repeat(32)}` } }));
    expect(elsewhere?.termsTag).not.toBe(identity?.termsTag);
    const { chainId, asset, authorization } = await accepted(type);
    expect(termsOf(chainId, asset, authorization)).toEqual({
      authorizationId: identity?.authorizationId,
      termsTag: identity?.termsTag,
    });
  });

  it.each(METHODS)('by %s is stored and read again whole', async (type) => {
    const payment = await accepted(type);
    expect(decodePayment(encodePayment(payment))).toEqual(payment);
    expect(settlementOf(payment, undefined, 9n)).toMatchObject({
      payTo: ESCROW.toLowerCase(),
      amount: 1000n,
      gas: 9n,
    });
  });

  const deposited = (
    amount: bigint,
    logIndex: number,
    more: Partial<ReceiptLog> = {},
  ): ReceiptLog => ({
    address: ESCROW.toLowerCase() as Address,
    topics: [DEPOSITED_TOPIC, ID, `0x${addressWord(AUTHORIZER)}`],
    data: `0x${uintWord(amount)}${uintWord(amount + 500n)}` as Hex,
    logIndex,
    ...more,
  });
  const used = (nonce: Hex, address: Address = TOKEN): ReceiptLog => ({
    address,
    topics: [AUTHORIZATION_USED_TOPIC, `0x${addressWord(buyer.address)}`, nonce],
    data: '0x',
    logIndex: 1,
  });

  it('is paid by the event of its channel, by EIP-3009 with that of its authorization', async () => {
    const payment = await accepted('eip3009');
    const credited = (...logs: ReceiptLog[]) => [...creditLogs([{ id: 'a', payment }], logs)];
    const own = used(depositNonceOf(ID, CONFIG.salt));
    expect(credited(own, deposited(1000n, 4))).toEqual([['a', 4]]);
    expect(credited(deposited(1000n, 4))).toEqual([]);
    expect(credited(used(`0x${'7'.repeat(64)}`), deposited(1000n, 4))).toEqual([]);
    expect(credited({ ...own, address: SELLER }, deposited(1000n, 4))).toEqual([]);
    expect(credited(own, deposited(999n, 4))).toEqual([]);
    expect(credited(own, deposited(1000n, 4, { address: TOKEN }))).toEqual([]);
    const another: readonly Hex[] = [DEPOSITED_TOPIC, `0x${'1'.repeat(64)}`];
    expect(credited(own, deposited(1000n, 4, { topics: another }))).toEqual([]);
  });

  it('is credited with one event, and two with two', async () => {
    const payment = await accepted('permit2');
    const both = ['a', 'b'].map((id) => ({ id, payment }));
    expect([...creditLogs(both, [deposited(1000n, 4)])]).toEqual([['a', 4]]);
    const two = [deposited(1000n, 4), deposited(1000n, 6)];
    expect([...creditLogs(both, two)]).toEqual([
      ['a', 4],
      ['b', 6],
    ]);
  });

  it('by Permit2 is known by its calldata', async () => {
    const { to, data } = callOf(await accepted('permit2'));
    expect(presentedAuthorizations(to, data, DEFAULT_SCHEME_CONTRACTS)).toEqual([
      {
        method: 'permit2',
        token: TOKEN,
        from: buyer.address.toLowerCase(),
        to: ESCROW.toLowerCase(),
        amount: 1000n,
        nonce: 7n,
      },
    ]);
    expect(presentedAuthorizations(TOKEN, data, DEFAULT_SCHEME_CONTRACTS)).toEqual([]);
    const byEip3009 = callOf(await accepted('eip3009'));
    expect(presentedAuthorizations(to, byEip3009.data, DEFAULT_SCHEME_CONTRACTS)).toEqual([]);
  });
});
