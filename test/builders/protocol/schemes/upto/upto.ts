import { type Address, getAddress, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { UptoAuthorization } from '../../../../../src/protocol/evm/authorization.js';
import { PERMIT2, UPTO_PERMIT2_PROXY } from '../../../../../src/protocol/evm/contracts.js';
import type { AcceptedPayment } from '../../../../../src/protocol/payment/accepted-payment.js';
import {
  type ParsedPayment,
  parsePayment,
  readEnvelope,
} from '../../../../../src/protocol/payment/parse-payment.js';
import type { Payment, Purpose } from '../../../../../src/protocol/payment/payment.js';

/** Payments of the scheme `upto`, signed as a wallet signs them. */

const account = privateKeyToAccount(`0x${'07'.repeat(32)}`);
export const UPTO_PAYER = account.address.toLowerCase() as Address;
export const UPTO_PAYEE: Address = `0x${'22'.repeat(20)}`;
export const UPTO_TOKEN: Address = `0x${'33'.repeat(20)}`;
export const UPTO_LANE: Address = `0x${'0c'.repeat(20)}`;
export const UPTO_MAXIMUM = 1000n;
export const UPTO_NOW = 1_900_000_000;
const DEADLINE = UPTO_NOW + 60;

const TYPES = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'facilitator', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
} as const;

export interface UptoOptions {
  readonly purpose?: Purpose;
  /** What is required: the maximum unless it is named. */
  readonly amount?: unknown;
  /** Fields of the permit that differ, and are signed so. */
  readonly permit?: Readonly<Record<string, unknown>>;
  readonly witness?: Readonly<Record<string, unknown>>;
  readonly permitted?: Readonly<Record<string, unknown>>;
  readonly requirements?: Readonly<Record<string, unknown>>;
  readonly accepted?: Readonly<Record<string, unknown>>;
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly signature?: Hex;
}

export async function readUpto(options: UptoOptions = {}): Promise<ParsedPayment> {
  const { purpose = 'settle', amount = UPTO_MAXIMUM.toString(), extensions } = options;
  const permit = {
    permitted: {
      token: getAddress(UPTO_TOKEN),
      amount: UPTO_MAXIMUM.toString(),
      ...options.permitted,
    },
    spender: UPTO_PERMIT2_PROXY,
    nonce: '77',
    deadline: String(DEADLINE),
    witness: {
      to: getAddress(UPTO_PAYEE),
      facilitator: getAddress(UPTO_LANE),
      validAfter: '0',
      ...options.witness,
    },
    ...options.permit,
  };
  const terms = {
    scheme: 'upto',
    network: 'eip155:56',
    asset: UPTO_TOKEN,
    payTo: UPTO_PAYEE,
    amount: UPTO_MAXIMUM.toString(),
    maxTimeoutSeconds: 60,
    extra: {},
  };
  const envelope = readEnvelope({
    paymentPayload: {
      x402Version: 2,
      accepted: { ...terms, ...options.accepted },
      payload: {
        signature: options.signature ?? (await sign(permit)),
        permit2Authorization: { from: account.address, ...permit },
      },
      ...(extensions && { extensions }),
    },
    paymentRequirements: { ...terms, amount, ...options.requirements },
  });
  if (envelope === undefined) throw new Error('no envelope');
  return parsePayment(envelope, [1, 2], () => true, purpose);
}

export async function anUptoPayment(options: UptoOptions = {}): Promise<Payment> {
  const read = await readUpto(options);
  if (!read.ok) throw new Error(read.reason);
  return read.payment;
}

/** What cannot be signed gets a signature of another thing. */
async function sign(message: object): Promise<Hex> {
  try {
    return await account.signTypedData({
      domain: { name: 'Permit2', chainId: 56, verifyingContract: PERMIT2 },
      types: TYPES,
      primaryType: 'PermitWitnessTransferFrom',
      message: message as never,
    });
  } catch {
    return account.signMessage({ message: 'nothing' });
  }
}

export function anUptoAuthorization(overrides: Partial<UptoAuthorization> = {}): UptoAuthorization {
  return {
    scheme: 'upto',
    method: 'permit2',
    from: UPTO_PAYER,
    token: UPTO_TOKEN,
    amount: UPTO_MAXIMUM,
    spender: UPTO_PERMIT2_PROXY,
    nonce: 77n,
    deadline: BigInt(DEADLINE),
    witnessTo: UPTO_PAYEE,
    facilitator: UPTO_LANE,
    witnessValidAfter: 0n,
    signature: `0x${'ef'.repeat(64)}1c`,
    sponsoredPermit: undefined,
    ...overrides,
  };
}

/** To be settled for less than what was signed. */
export function anAcceptedUpto(overrides: Partial<AcceptedPayment> = {}): AcceptedPayment {
  return {
    chainId: 56,
    asset: UPTO_TOKEN,
    payTo: UPTO_PAYEE,
    amount: 400n,
    payerHasCode: false,
    authorization: anUptoAuthorization(),
    tokenName: undefined,
    tokenVersion: undefined,
    ...overrides,
  };
}
