import type { Address } from 'viem';
import type { WalletAsset } from '../../platform/config/wallet-assets.js';
import { PERMIT2 } from '../../protocol/evm/contracts.js';
import type { TransferMethod } from '../../protocol/evm/transfer-method.js';
import {
  isUint256,
  readAddress,
  readBytes,
  readInteger,
  readOptionalObject,
} from '../../protocol/payment/wire-values.js';
import { eip3009Message, permit2Message, type TransferTerms } from './payment-message.js';
import { authorizationId, type Signable, type Spending, type TypedData } from './spending.js';
import { type DigestedTypedData, digestOf } from './typed-data-digest.js';

/** The tokens and contracts by which the wallet recognizes payments. */
export interface KnownContracts {
  token(chainId: number, address: Address): WalletAsset | undefined;
  /** The x402 exact Permit2 proxy of a network that is served. */
  permit2Proxy(chainId: number): Address | undefined;
}

/**
 * Describes what a signature over typed data would allow. It is a payment if its digest equals that of the message
 * rebuilt from the decoded values, because then the rules see all signed values. Nothing else is hashed here, so a
 * refused message costs no hash.
 *
 * @param wallet - the account that would sign.
 */
export function decodeTypedData(
  typedData: DigestedTypedData,
  wallet: Address,
  known: KnownContracts,
): Signable {
  const chainId = Number(readInteger(typedData.domain['chainId']) ?? -1n);
  const contract = readAddress(typedData.domain['verifyingContract']);
  switch (typedData.primaryType) {
    case 'TransferWithAuthorization':
      return decodeEip3009(typedData, { wallet, chainId, contract, known });
    case 'PermitWitnessTransferFrom':
      return decodePermit2(typedData, { wallet, chainId, contract, known });
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
  typedData: DigestedTypedData,
  { wallet, chainId, contract, known }: Setting,
): Signable {
  const { message } = typedData;
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
    return { kind: 'unsignable', why: 'the payment spends from an account that is not the wallet' };
  }
  const own = eip3009Message({ ...token, eip712: token.eip712 }, terms);
  if (!isSame(typedData, own)) return unknownTransfer(contract);
  return { kind: 'payment', token, spending: spendingOf(token, 'eip3009', terms) };
}

function decodePermit2(
  typedData: DigestedTypedData,
  { wallet, chainId, contract, known }: Setting,
): Signable {
  const { message } = typedData;
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
  if (!isSame(typedData, permit2Message(token, proxy, terms))) return unknownTransfer(contract);
  return { kind: 'payment', token, spending: spendingOf(token, 'permit2', terms) };
}

/** Whether both have the same digest. Types are compared first, because different ones need no hash. */
function isSame(sent: DigestedTypedData, own: TypedData): boolean {
  for (const [struct, fields] of Object.entries(own.types)) {
    if (struct === 'EIP712Domain') continue;
    const given = Object.hasOwn(sent.types, struct) ? sent.types[struct] : undefined;
    if (given?.length !== fields.length) return false;
    const isEqual = fields.every(({ name, type }, at) => {
      const one = given[at];
      return one?.name === name && one.type === type;
    });
    if (!isEqual) return false;
  }
  return sent.digest !== undefined && sent.digest === digestOf(own);
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
  method: TransferMethod,
  { payTo, amount, deadline, nonce }: TransferTerms,
): Spending {
  return {
    id: authorizationId({ chainId, method, asset: address, nonce }),
    chainId,
    method,
    asset: address,
    payTo,
    amount,
    nonce,
    // Far beyond any date; its length makes the rules refuse it.
    deadline: Number(
      deadline > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : deadline,
    ),
  };
}

/** Looks like a payment, but its token, domain or shape is unknown. */
function unknownTransfer(contract: Address | undefined): Signable {
  return {
    kind: 'scoped',
    scope: 'permit',
    what: `a transfer of an unknown token or domain${contract === undefined ? '' : ` (${contract})`}`,
  };
}

/** Known messages that move funds are recognized by name, unknown ones by contract. */
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
