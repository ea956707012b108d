import { type Address, hashTypedData, type Hex } from 'viem';
import type { WalletAsset } from '../../config/wallet-settings.js';
import { PERMIT2 } from '../../core/exact/contracts.js';
import {
  isJsonObject,
  isUint256,
  readAddress,
  readBytes,
  readInteger,
  readOptionalObject,
} from '../../core/payment/wire-values.js';
import { eip3009Message, permit2Message, type TransferTerms } from './payment-message.js';
import type { Signable, Spending, TypedData } from './spending.js';

/** Tokens and contracts the wallet can tell payments by. */
export interface KnownContracts {
  token(chainId: number, address: Address): WalletAsset | undefined;
  /** The x402 exact Permit2 proxy of a network that is served. */
  permit2Proxy(chainId: number): Address | undefined;
}

const MAX_STRUCTS = 20;
const MAX_FIELDS = 40;

/** `undefined` when it has not the shape of EIP-712 typed data. */
export function readTypedData(sent: unknown): TypedData | undefined {
  if (!isJsonObject(sent)) return undefined;
  const { types, domain, message } = sent;
  const primaryType = sent['primaryType'] ?? sent['primary_type'];
  if (!isJsonObject(types) || !isJsonObject(domain) || !isJsonObject(message)) return undefined;
  if (typeof primaryType !== 'string' || Object.keys(types).length > MAX_STRUCTS) return undefined;
  const read: Record<string, { name: string; type: string }[]> = {};
  for (const [struct, fields] of Object.entries(types)) {
    if (!Array.isArray(fields) || fields.length > MAX_FIELDS) return undefined;
    const known: { name: string; type: string }[] = [];
    for (const field of fields as unknown[]) {
      if (!isJsonObject(field)) return undefined;
      const { name, type } = field;
      if (typeof name !== 'string' || typeof type !== 'string') return undefined;
      known.push({ name, type });
    }
    read[struct] = known;
  }
  return { types: read, domain, primaryType, message };
}

/** What a wallet signs; `undefined` when it cannot be hashed at all. */
export function digestOf({ domain, types, primaryType, message }: TypedData): Hex | undefined {
  try {
    return hashTypedData({ domain, types, primaryType, message });
  } catch {
    return undefined;
  }
}

/**
 * Says what a signature over typed data would allow. A payment is one whose digest equals that of the
 * message built anew from the decoded values: then nothing was signed that was not judged.
 *
 * @param wallet - the account that would sign.
 */
export function decodeTypedData(
  typedData: TypedData,
  wallet: Address,
  known: KnownContracts,
): Signable {
  const digest = digestOf(typedData);
  if (digest === undefined)
    return { kind: 'unsignable', why: 'it is not valid EIP-712 typed data' };
  const chainId = Number(readInteger(typedData.domain['chainId']) ?? -1n);
  const contract = readAddress(typedData.domain['verifyingContract']);
  switch (typedData.primaryType) {
    case 'TransferWithAuthorization':
      return decodeEip3009(typedData, digest, { wallet, chainId, contract, known });
    case 'PermitWitnessTransferFrom':
      return decodePermit2(typedData, digest, { wallet, chainId, contract, known });
    default:
      return movesFunds(typedData.primaryType, chainId, contract, known)
        ? { kind: 'scoped', scope: 'permit', what: `a ${nameOf(typedData)} signature` }
        : { kind: 'scoped', scope: 'typed_data', what: `a ${nameOf(typedData)} signature` };
  }
}

interface Setting {
  readonly wallet: Address;
  readonly chainId: number;
  readonly contract: Address | undefined;
  readonly known: KnownContracts;
}

function decodeEip3009(
  { message }: TypedData,
  digest: Hex,
  { wallet, chainId, contract, known }: Setting,
): Signable {
  const token = contract && known.token(chainId, contract);
  const terms = readTerms(wallet, {
    payTo: message['to'],
    amount: message['value'],
    validAfter: message['validAfter'],
    deadline: message['validBefore'],
    nonce: readBytes(message['nonce']),
  });
  if (token?.eip712 === undefined || terms === undefined) return unknownTransfer(contract);
  if (readAddress(message['from']) !== wallet) {
    return { kind: 'unsignable', why: 'it spends from another account than the wallet' };
  }
  const own = eip3009Message({ ...token, eip712: token.eip712 }, terms);
  if (digestOf(own) !== digest) return unknownTransfer(contract);
  return { kind: 'payment', token, spending: spendingOf(token, 'eip3009', terms) };
}

function decodePermit2(
  { message }: TypedData,
  digest: Hex,
  { wallet, chainId, contract, known }: Setting,
): Signable {
  const permitted = readOptionalObject(message['permitted']);
  const witness = readOptionalObject(message['witness']);
  const tokenAddress = readAddress(permitted?.['token']);
  const token = tokenAddress && known.token(chainId, tokenAddress);
  const proxy = known.permit2Proxy(chainId);
  const terms = readTerms(wallet, {
    payTo: witness?.['to'],
    amount: permitted?.['amount'],
    validAfter: witness?.['validAfter'],
    deadline: message['deadline'],
    nonce: message['nonce'],
  });
  if (contract !== PERMIT2 || !token || proxy === undefined || terms === undefined) {
    return unknownTransfer(contract);
  }
  if (digestOf(permit2Message(token, proxy, terms)) !== digest) return unknownTransfer(contract);
  return { kind: 'payment', token, spending: spendingOf(token, 'permit2', terms) };
}

function readTerms(
  from: Address,
  sent: Readonly<Record<'payTo' | 'amount' | 'validAfter' | 'deadline' | 'nonce', unknown>>,
): TransferTerms | undefined {
  const payTo = readAddress(sent.payTo);
  const [amount, validAfter, deadline, nonce] = [
    readInteger(sent.amount),
    readInteger(sent.validAfter),
    readInteger(sent.deadline),
    readInteger(sent.nonce),
  ];
  if (payTo === undefined || amount === undefined || validAfter === undefined) return undefined;
  if (deadline === undefined || nonce === undefined) return undefined;
  if (![amount, validAfter, deadline, nonce].every(isUint256)) return undefined;
  return { from, payTo, amount, validAfter, deadline, nonce };
}

export function spendingOf(
  { chainId, address }: WalletAsset,
  method: 'eip3009' | 'permit2',
  { payTo, amount, deadline, nonce }: TransferTerms,
): Spending {
  const scope = method === 'eip3009' ? address : PERMIT2;
  return {
    id: `${chainId}:${scope}:${nonce.toString(16)}`,
    chainId,
    method,
    asset: address,
    payTo,
    amount,
    nonce,
    // Far beyond any date; such a deadline is refused by its length.
    deadline: Number(
      deadline > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : deadline,
    ),
  };
}

/** Looks like a payment, but of a token, a domain or a shape nobody vouches for. */
function unknownTransfer(contract: Address | undefined): Signable {
  return {
    kind: 'scoped',
    scope: 'permit',
    what: `a transfer of an unknown token or domain${contract === undefined ? '' : ` (${contract})`}`,
  };
}

/** By name for what is known to move funds, by contract for what nobody has heard of. */
function movesFunds(
  primaryType: string,
  chainId: number,
  contract: Address | undefined,
  known: KnownContracts,
): boolean {
  if (/permit|authorization|transfer|order|approv|delegat/i.test(primaryType)) return true;
  if (contract === undefined) return false;
  return contract === PERMIT2 || known.token(chainId, contract) !== undefined;
}

function nameOf({ primaryType }: TypedData): string {
  return /^\w{1,64}$/.test(primaryType) ? primaryType : 'typed data';
}
