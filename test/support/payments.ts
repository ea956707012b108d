import { randomBytes } from 'node:crypto';
import {
  type Address,
  encodeFunctionData,
  erc20Abi,
  getAddress,
  type Hex,
  maxUint256,
  toHex,
} from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { EXACT_PROXY, PERMIT2, UPTO_PROXY, USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';

/**
 * Payments as buyers sign them, made with viem alone: valid by default, every field to be overridden.
 * What a test sends is what the wire carries.
 */

export const newAccount = (): PrivateKeyAccount => privateKeyToAccount(generatePrivateKey());
export const newNonce = (): Hex => toHex(randomBytes(32));
export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

export type Json = Record<string, unknown>;

export interface Body {
  x402Version: unknown;
  paymentPayload: Json;
  paymentRequirements: Json;
}

export interface PaymentOptions {
  readonly payer: PrivateKeyAccount;
  readonly chainId: number;
  readonly token: Address;
  readonly payTo: Address;
  /** Atomic units. */
  readonly amount?: bigint;
  readonly network?: string;
  /** The account named as payer, when it is a contract that the signer owns. */
  readonly from?: Address;
  readonly nonce?: Hex;
  readonly validAfter?: bigint;
  /** Seconds from now. */
  readonly validFor?: number;
  readonly name?: string;
  readonly version?: string;
}

export const TRANSFER_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

interface SignedTransfer {
  readonly signature: Hex;
  readonly authorization: Record<
    'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce',
    string
  >;
}

async function signTransfer(options: PaymentOptions): Promise<SignedTransfer> {
  const { payer, chainId, token, payTo, amount = 1000n } = options;
  const { from = payer.address, nonce = newNonce(), validAfter = 0n, validFor = 300 } = options;
  const message = {
    from,
    to: getAddress(payTo),
    value: amount,
    validAfter,
    validBefore: BigInt(nowSeconds() + validFor),
    nonce,
  };
  const signature = await payer.signTypedData({
    domain: {
      name: options.name ?? USD_NAME,
      version: options.version ?? USD_VERSION,
      chainId,
      verifyingContract: token,
    },
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message,
  });
  return {
    signature,
    authorization: {
      from: message.from,
      to: message.to,
      value: message.value.toString(),
      validAfter: message.validAfter.toString(),
      validBefore: message.validBefore.toString(),
      nonce,
    },
  };
}

/** V2, EIP-3009. */
export async function eip3009Body(options: PaymentOptions): Promise<Body> {
  const requirements = requirementsV2(options);
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      resource: { url: 'https://seller.example/report' },
      accepted: { ...requirements },
      payload: { ...(await signTransfer(options)) },
    },
    paymentRequirements: requirements,
  };
}

/** V1, with a short network name. */
export async function v1Body(options: PaymentOptions & { network: string }): Promise<Body> {
  return {
    x402Version: 1,
    paymentPayload: {
      x402Version: 1,
      scheme: 'exact',
      network: options.network,
      payload: { ...(await signTransfer(options)) },
    },
    paymentRequirements: {
      scheme: 'exact',
      network: options.network,
      maxAmountRequired: (options.amount ?? 1000n).toString(),
      resource: 'https://seller.example/report',
      description: 'A report',
      mimeType: 'application/json',
      payTo: options.payTo,
      maxTimeoutSeconds: 300,
      asset: options.token,
      extra: { name: options.name ?? USD_NAME, version: options.version ?? USD_VERSION },
    },
  };
}

export interface Permit2Options extends Omit<PaymentOptions, 'nonce'> {
  readonly nonce?: bigint;
  readonly spender?: Address;
}

const PERMIT2_TYPES = {
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
    { name: 'validAfter', type: 'uint256' },
  ],
} as const;

/** V2, Permit2 through the exact proxy. */
export async function permit2Body(options: Permit2Options): Promise<Body> {
  const { payer, chainId, token, payTo, amount = 1000n } = options;
  const { from = payer.address, validAfter = 0n, validFor = 300 } = options;
  const { nonce = BigInt(newNonce()), spender = EXACT_PROXY } = options;
  const deadline = BigInt(nowSeconds() + validFor);
  const witness = { to: getAddress(payTo), validAfter };
  const signature = await payer.signTypedData({
    domain: { name: 'Permit2', chainId, verifyingContract: PERMIT2 },
    types: PERMIT2_TYPES,
    primaryType: 'PermitWitnessTransferFrom',
    message: { permitted: { token, amount }, spender, nonce, deadline, witness },
  });
  const requirements: Json = {
    ...requirementsV2(options),
    extra: { assetTransferMethod: 'permit2', name: USD_NAME, version: USD_VERSION },
  };
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      resource: { url: 'https://seller.example/report' },
      accepted: { ...requirements },
      payload: {
        signature,
        permit2Authorization: {
          from,
          permitted: { token, amount: amount.toString() },
          spender,
          nonce: nonce.toString(),
          deadline: deadline.toString(),
          witness: { to: witness.to, validAfter: validAfter.toString() },
        },
      },
    },
    paymentRequirements: requirements,
  };
}

export interface UptoOptions extends Permit2Options {
  /** The account that may collect. */
  readonly facilitator: Address;
  /** The amount to settle; `amount` is the maximum. */
  readonly charged?: string;
}

const UPTO_TYPES = {
  ...PERMIT2_TYPES,
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'facilitator', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
} as const;

/** V2, Permit2 through the upto proxy. */
export async function uptoBody(options: UptoOptions): Promise<Body> {
  const { payer, chainId, token, payTo, amount = 1000n, facilitator } = options;
  const { from = payer.address, validAfter = 0n, validFor = 300 } = options;
  const { nonce = BigInt(newNonce()), spender = UPTO_PROXY } = options;
  const deadline = BigInt(nowSeconds() + validFor);
  const witness = { to: getAddress(payTo), facilitator: getAddress(facilitator), validAfter };
  const signature = await payer.signTypedData({
    domain: { name: 'Permit2', chainId, verifyingContract: PERMIT2 },
    types: UPTO_TYPES,
    primaryType: 'PermitWitnessTransferFrom',
    message: { permitted: { token, amount }, spender, nonce, deadline, witness },
  });
  const requirements: Json = {
    ...requirementsV2(options),
    scheme: 'upto',
    extra: { assetTransferMethod: 'permit2', facilitatorAddress: witness.facilitator },
  };
  const body: Body = {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      resource: { url: 'https://seller.example/answer' },
      accepted: { ...requirements },
      payload: {
        signature,
        permit2Authorization: {
          from,
          permitted: { token, amount: amount.toString() },
          spender,
          nonce: nonce.toString(),
          deadline: deadline.toString(),
          witness: { ...witness, validAfter: validAfter.toString() },
        },
      },
    },
    paymentRequirements: requirements,
  };
  return options.charged === undefined ? body : charging(body, options.charged);
}

/** The same payment, to be settled for another amount. */
export function charging(body: Body, amount: string): Body {
  return { ...body, paymentRequirements: { ...body.paymentRequirements, amount } };
}

const PERMIT_TYPES = {
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
} as const;

const APPROVAL_GAS = 70_000n;
/** More than blocks that were full a moment ago ask for. */
const APPROVAL_PRICE = 5n * 10n ** 9n;

/** What of a payer's approval a test may sign in its own way. */
export interface SignedApproval {
  readonly nonce?: number;
  readonly chainId?: number;
  readonly gas?: bigint;
  readonly maxFeePerGas?: bigint;
  readonly maxPriorityFeePerGas?: bigint;
}

/** The payer's own approval of Permit2, its first transaction, as `erc20ApprovalGasSponsoring` carries it. */
export async function withSignedApproval(
  body: Body,
  { payer, chainId, token }: Pick<Permit2Options, 'payer' | 'chainId' | 'token'>,
  signed: SignedApproval = {},
): Promise<Body> {
  const args = [PERMIT2, maxUint256] as const;
  const signedTransaction = await payer.signTransaction({
    type: 'eip1559',
    chainId,
    nonce: 0,
    to: token,
    gas: APPROVAL_GAS,
    data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args }),
    maxFeePerGas: APPROVAL_PRICE,
    maxPriorityFeePerGas: APPROVAL_PRICE,
    ...signed,
  });
  const info = {
    from: payer.address,
    asset: token,
    spender: PERMIT2,
    version: '1',
    amount: maxUint256.toString(),
    signedTransaction,
  };
  body.paymentPayload['extensions'] = { erc20ApprovalGasSponsoring: { info } };
  return body;
}

/** Permit2 with the approval signed too, as `eip2612GasSponsoring` carries it. */
export async function sponsoredBody(options: SponsorOptions): Promise<Body> {
  return withSponsoredPermit(await permit2Body(options), options);
}

type SponsorOptions = Permit2Options & { readonly permitNonce?: bigint };

/** The same of a payment that is there already. */
export async function withSponsoredPermit(body: Body, options: SponsorOptions): Promise<Body> {
  const { payer, chainId, token, amount = 1000n, validFor = 300, permitNonce = 0n } = options;
  const deadline = BigInt(nowSeconds() + validFor);
  const signature = await payer.signTypedData({
    domain: { name: USD_NAME, version: USD_VERSION, chainId, verifyingContract: token },
    types: PERMIT_TYPES,
    primaryType: 'Permit',
    message: {
      owner: payer.address,
      spender: PERMIT2,
      value: amount,
      nonce: permitNonce,
      deadline,
    },
  });
  body.paymentPayload['extensions'] = {
    eip2612GasSponsoring: {
      info: {
        from: payer.address,
        asset: token,
        spender: PERMIT2,
        amount: amount.toString(),
        nonce: permitNonce.toString(),
        deadline: deadline.toString(),
        signature,
        version: '1',
      },
    },
  };
  return body;
}

function requirementsV2({
  chainId,
  network,
  amount = 1000n,
  ...rest
}: PaymentOptions | Permit2Options): Json {
  return {
    scheme: 'exact',
    network: network ?? `eip155:${chainId}`,
    amount: amount.toString(),
    asset: rest.token,
    payTo: rest.payTo,
    maxTimeoutSeconds: 300,
    extra: { name: rest.name ?? USD_NAME, version: rest.version ?? USD_VERSION },
  };
}
