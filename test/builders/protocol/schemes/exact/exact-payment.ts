import {
  type Address,
  encodeFunctionResult,
  type Hex,
  multicall3Abi,
  serializeErc6492Signature,
} from 'viem';
import { addressWord, uintWord } from '../../../../../src/protocol/evm/abi-words.js';
import {
  asEip3009Authorization,
  asPermit2Authorization,
} from '../../../../../src/protocol/evm/authorization.js';
import type { Call } from '../../../../../src/protocol/evm/calls.js';
import type {
  CallOutcome,
  ChainReader,
  Effect,
  Settlement,
} from '../../../../../src/protocol/evm/chain-reader.js';
import {
  DEFAULT_SCHEME_CONTRACTS,
  EXACT_PERMIT2_PROXY,
  PERMIT2,
} from '../../../../../src/protocol/evm/contracts.js';
import { eip3009Digest, permit2Digest } from '../../../../../src/protocol/evm/typed-data.js';
import { parsePayment, readEnvelope } from '../../../../../src/protocol/payment/parse-payment.js';
import type {
  Eip3009Claim,
  Payment,
  Permit2Claim,
} from '../../../../../src/protocol/payment/payment.js';
import type { JsonObject } from '../../../../../src/protocol/payment/wire-values.js';
import type {
  RecoverSignerAsync,
  VerifyContext,
} from '../../../../../src/protocol/schemes/verdict.js';

/** Payments of the exact scheme as they are sent, and a chain in memory that judges them. */

export const PAYER: Address = '0x1111111111111111111111111111111111111111';
export const PAYEE: Address = '0x2222222222222222222222222222222222222222';
export const TOKEN: Address = '0x3333333333333333333333333333333333333333';
/** It may be called to make wallets. */
export const FACTORY: Address = '0xfafafafafafafafafafafafafafafafafafafafa';
export const STRANGER: Address = '0x9999999999999999999999999999999999999999';
export const NOW = 1_800_000_000;
export const AMOUNT = 1000n;

/**
 * Signs without a curve: the signature repeats the digest, so that it fits what was signed and nothing
 * else.
 */
export const signatureOf = (digest: Hex, v = '1b'): Hex =>
  `0x${digest.slice(2)}${'5a'.repeat(32)}${v}`;

export const recoverSigner: RecoverSignerAsync = (digest, signature) =>
  Promise.resolve(
    ['1b', '1c'].some((v) => signature === signatureOf(digest, v)) ? PAYER : undefined,
  );

/** As ERC-6492 has it. */
export const wrapped = (signature: Hex, address: Address = FACTORY, data: Hex = '0x1234'): Hex =>
  serializeErc6492Signature({ address, data, signature });

/** What a request has that differs from a good one. */
export interface Sent {
  readonly version?: 1 | 2;
  /** Fields of what the payer signs; it signs them as they are. */
  readonly signed?: JsonObject;
  readonly requirements?: JsonObject;
  readonly accepted?: JsonObject;
  /** In the place of the payer's own. */
  readonly signature?: string;
  /** `v` of the payer's own. */
  readonly v?: string;
  readonly extensions?: JsonObject;
}

interface SignedPayment<C> {
  /** As it is sent. */
  readonly body: JsonObject;
  readonly payment: Payment;
  readonly claim: C;
}

function parse(body: JsonObject): Payment {
  const envelope = readEnvelope(body);
  if (envelope === undefined) throw new Error('no envelope');
  const parsed = parsePayment(envelope, [1, 2], () => true);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.payment;
}

const AMOUNT_FIELD = { 1: 'maxAmountRequired', 2: 'amount' } as const;

function bodyOf(sent: Sent, payload: JsonObject): JsonObject {
  const { version = 2, extensions } = sent;
  const requirements = {
    scheme: 'exact',
    network: version === 1 ? 'bsc' : 'eip155:56',
    asset: TOKEN,
    payTo: PAYEE,
    [AMOUNT_FIELD[version]]: String(AMOUNT),
    extra: { name: 'USD', version: '1' },
    ...sent.requirements,
  };
  const { scheme, network } = requirements;
  const accepted = { scheme, network, ...sent.accepted };
  return {
    x402Version: version,
    paymentPayload: {
      x402Version: version,
      payload,
      extensions,
      ...(version === 1 ? accepted : { accepted }),
    },
    paymentRequirements: requirements,
  };
}

/** Parsed twice: the second time with the signature of what the first one read. */
function signedPayment<C extends Eip3009Claim | Permit2Claim>(
  sent: Sent,
  name: string,
  fields: JsonObject,
  digestOf: (claim: C, payment: Payment) => Hex | undefined,
): SignedPayment<C> {
  const withSignature = (signature: string): JsonObject =>
    bodyOf(sent, { signature, [name]: fields });
  const unsigned = parse(withSignature('0x'));
  const digest = digestOf(unsigned.claim as C, unsigned);
  const own =
    digest === undefined ? signatureOf(`0x${'00'.repeat(32)}`) : signatureOf(digest, sent.v);
  const body = withSignature(sent.signature ?? own);
  const payment = parse(body);
  return { body, payment, claim: payment.claim as C };
}

export function anEip3009Payment(sent: Sent = {}): SignedPayment<Eip3009Claim> {
  const fields = {
    from: PAYER,
    to: PAYEE,
    value: String(AMOUNT),
    nonce: `0x${'ab'.repeat(32)}`,
    validAfter: '0',
    validBefore: String(NOW + 60),
    ...sent.signed,
  };
  return signedPayment<Eip3009Claim>(sent, 'authorization', fields, (claim, { requirements }) => {
    const authorization = asEip3009Authorization(claim, '0x');
    const { tokenName: name, tokenVersion: version, asset: token, chainId } = requirements;
    return (
      authorization &&
      eip3009Digest(authorization, { name: String(name), version: String(version), chainId, token })
    );
  });
}

export function aPermit2Payment(sent: Sent = {}): SignedPayment<Permit2Claim> {
  const fields = {
    from: PAYER,
    permitted: { token: TOKEN, amount: String(AMOUNT) },
    spender: EXACT_PERMIT2_PROXY,
    nonce: '77',
    deadline: String(NOW + 60),
    witness: { to: PAYEE, validAfter: '0' },
    ...sent.signed,
  };
  return signedPayment<Permit2Claim>(sent, 'permit2Authorization', fields, (claim, payment) => {
    const authorization = asPermit2Authorization(claim, '0x', undefined);
    return authorization && permit2Digest(authorization, payment.requirements.chainId);
  });
}

/** `extensions` with a permit of the payer to Permit2, changed as a test wants. */
export function sponsoredBy(changes: JsonObject = {}): JsonObject {
  const info = {
    from: PAYER,
    asset: TOKEN,
    spender: PERMIT2,
    amount: String(AMOUNT),
    nonce: '0',
    deadline: String(NOW + 60),
    signature: `0x${'0c'.repeat(64)}00`,
    version: '1',
    ...changes,
  };
  return { eip2612GasSponsoring: { info } };
}

const word = (digits: string): CallOutcome => ({ status: 'returned', data: `0x${digits}` });
const text = (value: string): CallOutcome =>
  word(uintWord(32) + uintWord(value.length) + Buffer.from(value).toString('hex').padEnd(64, '0'));

/** What Multicall3 returns of two calls, of which the first one failed. */
function afterAnother(second: CallOutcome): CallOutcome {
  if (second.status === 'halted') return second;
  const answers = [
    { success: false, returnData: '0x' },
    { success: second.status === 'returned', returnData: second.data ?? '0x' },
  ] as const;
  const functionName = 'aggregate3';
  const data = encodeFunctionResult({ abi: multicall3Abi, functionName, result: answers });
  return { status: 'returned', data };
}

/** By the selector of the call. */
const SELECTORS = {
  balanceOf: '0x70a08231',
  allowance: '0xdd62ed3e',
  authorizationState: '0xe94a0102',
  name: '0x06fdde03',
  version: '0x54fd4d50',
  permit2: '0x6afdd850',
  isValidSignature: '0x1626ba7e',
  aggregate3: '0x82ad56cb',
} as const;

/** One chain at its newest block, as a test sets it up. */
export class JudgingChain implements ChainReader {
  readonly chainId = 56;
  readonly schemeContracts = DEFAULT_SCHEME_CONTRACTS;
  /** Accounts with code. */
  readonly code = new Set<Address>([TOKEN, EXACT_PERMIT2_PROXY]);
  balance = AMOUNT;
  allowance = AMOUNT;
  isUsed = false;
  tokenName = 'USD';
  tokenVersion = '1';
  /** What the payer's wallet says of a signature. */
  walletSays: CallOutcome = { status: 'reverted', data: undefined };
  /** What it says once its factory was called. */
  deployedSays: CallOutcome = { status: 'reverted', data: undefined };
  /** What simulations bring about, one after the other; the last one stays. */
  effects: Effect[] = [{ status: 'paid', gasUsed: 60_000n }];
  /** Unix seconds of its newest block; a block more is there each time it is asked for. */
  newestTimes: bigint[] = [BigInt(NOW)];
  readonly simulated: Settlement[] = [];
  readonly calls: { readonly call: Call; readonly gas: bigint | undefined }[] = [];

  hasCode(address: Address): Promise<boolean> {
    return Promise.resolve(this.code.has(address));
  }

  isContract(asset: Address): Promise<boolean> {
    return this.hasCode(asset);
  }

  call(call: Call, gas?: bigint): Promise<CallOutcome> {
    this.calls.push({ call, gas });
    const answers: Readonly<Record<string, CallOutcome>> = {
      [SELECTORS.balanceOf]: word(uintWord(this.balance)),
      [SELECTORS.allowance]: word(uintWord(this.allowance)),
      [SELECTORS.authorizationState]: word(uintWord(this.isUsed ? 1n : 0n)),
      [SELECTORS.name]: text(this.tokenName),
      [SELECTORS.version]: text(this.tokenVersion),
      [SELECTORS.permit2]: word(addressWord(PERMIT2)),
      [SELECTORS.isValidSignature]: this.walletSays,
      [SELECTORS.aggregate3]: afterAnother(this.deployedSays),
    };
    const answer = answers[call.data.slice(0, 10)];
    return Promise.resolve(answer ?? { status: 'reverted', data: undefined });
  }

  simulate(settlement: Settlement): Promise<Effect> {
    this.simulated.push(settlement);
    const [effect] = this.effects.length > 1 ? this.effects.splice(0, 1) : this.effects;
    if (effect === undefined) throw new Error('no effect was set');
    return Promise.resolve(effect);
  }

  newestTime(): Promise<bigint> {
    const [time] = this.newestTimes.length > 1 ? this.newestTimes.splice(0, 1) : this.newestTimes;
    if (time === undefined) throw new Error('no time was set');
    return Promise.resolve(time);
  }
}

export const SENDER = { address: STRANGER, gasPriceWei: 7n, balanceWei: 10n ** 18n };

export function aContext(chain: ChainReader): VerifyContext {
  const walletFactories = new Set([FACTORY]);
  return { chain, recoverSigner, now: NOW, maxGas: 500_000n, walletFactories, sender: SENDER };
}
