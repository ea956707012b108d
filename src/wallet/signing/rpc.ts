import { Injectable } from '@nestjs/common';
import { type Address, type Hex, isHex } from 'viem';
import { quantity } from '../../platform/chain/block.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { type Place, placeOf } from '../../protocol/diagnosis/place.js';
import { isLightJson } from '../../protocol/payment/json-bounds.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import {
  isJsonObject,
  type JsonObject,
  readAddress,
  readBytes,
  readInteger,
  readOptionalObject,
} from '../../protocol/payment/wire-values.js';
import type { SignableMessage } from '../provider/wallet-provider.js';
import { readTypedData, TYPED_DATA_BOUNDS } from '../rules/read-typed-data.js';
import { TRANSACTION_GAS_MAX, type WantedTransaction } from '../rules/spending.js';
import type { DigestedTypedData } from '../rules/typed-data-digest.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { ReplyStore, type RpcReply } from './reply-store.js';
import { WalletSigner } from './signer.js';

const MESSAGE_MAX_CHARACTERS = 65_536;
const METHODS = [
  'personal_sign',
  'eth_signTypedData_v4',
  'eth_sendTransaction',
  'eth_getBalance',
  'eth_call',
] as const;
/** The limit of nodes for a transaction. */
const DATA_MAX_BYTES = 131_072;

/** `POST /v1/wallets/me/rpc`: the methods, parameters and replies of the published wallet skill. */
@Injectable()
export class WalletRpc {
  constructor(
    private readonly signer: WalletSigner,
    private readonly replies: ReplyStore,
    private readonly chains: ChainRegistry,
  ) {}

  /** @param key - the caller's idempotency key. */
  async call(session: Session, body: unknown, key: string | undefined): Promise<RpcReply> {
    if (!isJsonObject(body)) {
      throw invalid('A JSON object is expected.', placeOf('body', 'a JSON object', body));
    }
    const { method, params } = body;
    const { address } = session.wallet;
    const signed = (sign: (providerKey: string) => Promise<RpcReply>): Promise<RpcReply> =>
      this.replies.once(address, key, body, sign);
    switch (method) {
      case 'personal_sign': {
        const message = readMessage(params);
        return signed(async (providerKey) => {
          const signature = await this.signer.signMessage(session, message, providerKey);
          return { method, data: { signature, encoding: 'hex' } };
        });
      }
      case 'eth_signTypedData_v4': {
        const typedData = readTypedDataParams(params);
        return signed(async (providerKey) => {
          const signature = await this.signer.signTypedData(session, typedData, providerKey);
          return { method, data: { signature, encoding: 'hex' } };
        });
      }
      case 'eth_sendTransaction': {
        const wanted = readTransaction(body, this.#chainOf(body));
        return signed(async (providerKey) => {
          const hash = await this.signer.sendTransaction(session, wanted, providerKey);
          return { method, data: { hash, caip2: body['caip2'] } };
        });
      }
      case 'eth_getBalance':
        return { method, data: { result: await this.#balance(body, address) } };
      case 'eth_call':
        return { method, data: { result: await this.#ethCall(body, address) } };
      default:
        throw new WalletError('unsupported_method', 'This wallet does not offer this method.', {
          place: placeOf('method', `one of ${METHODS.join(', ')}`, method),
        });
    }
  }

  #chainOf({ caip2 }: JsonObject): EvmChain {
    const chainId = typeof caip2 === 'string' ? chainIdOf(caip2) : undefined;
    const chain = chainId === undefined ? undefined : this.chains.served(chainId);
    if (chain === undefined) {
      const expected = 'a network that this service serves';
      throw invalid(`caip2 must name ${expected}.`, placeOf('caip2', expected, caip2));
    }
    return chain;
  }

  async #balance(body: JsonObject, own: Address): Promise<Hex> {
    const { params } = body;
    const asked = Array.isArray(params) ? (params as unknown[])[0] : readField(params, 'address');
    const address = asked === undefined ? own : readAddress(asked);
    if (address === undefined) {
      const expected = '{address} or [address]';
      throw invalid(`params must be ${expected}.`, placeOf('params', expected, params));
    }
    const wei = await this.#chainOf(body).withView((view) => view.balance(address));
    return quantity(wei);
  }

  async #ethCall(body: JsonObject, caller: Address): Promise<Hex> {
    const { params } = body;
    const sent = Array.isArray(params)
      ? (params as unknown[])[0]
      : readField(params, 'transaction');
    const to = readAddress(readField(sent, 'to'));
    const data = readData(readField(sent, 'data'));
    if (to === undefined || data === undefined) {
      const place = placeOf('params.transaction', 'an object with to and data', sent);
      throw invalid('params.transaction must have to and data.', place);
    }
    const outcome = await this.#chainOf(body).withView((view) =>
      view.callChosenBy(caller, { to, data }, TRANSACTION_GAS_MAX),
    );
    if (outcome.status === 'returned') return outcome.data;
    throw new WalletError(
      'INVALID_TRANSACTION',
      `The call reverted, or needs more than ${TRANSACTION_GAS_MAX.toString()} gas.`,
    );
  }
}

function readMessage(params: unknown): SignableMessage {
  const sent = Array.isArray(params) ? (params as unknown[])[0] : readField(params, 'message');
  if (typeof sent !== 'string') {
    const expected = '{message} or [message, address]';
    throw invalid(`params must be ${expected}.`, placeOf('params', expected, params));
  }
  if (!sent.isWellFormed()) {
    const expected = 'text without half of a surrogate pair';
    throw invalid(`message must be ${expected}.`, placeOf('params.message', expected, sent));
  }
  if (sent.length > MESSAGE_MAX_CHARACTERS) {
    const expected = `at most ${MESSAGE_MAX_CHARACTERS} characters`;
    throw invalid(
      `message is longer than ${MESSAGE_MAX_CHARACTERS} characters.`,
      placeOf('params.message', expected, sent),
    );
  }
  // As in Ethereum's personal_sign: hex is bytes, any other text is text.
  return readField(params, 'encoding') !== 'utf-8' && isHex(sent) && sent.length % 2 === 0
    ? { raw: sent }
    : sent;
}

function readTypedDataParams(params: unknown): DigestedTypedData {
  const { maxCharacters, maxValues, maxDepth } = TYPED_DATA_BOUNDS;
  let sent = Array.isArray(params) ? (params as unknown[])[1] : readField(params, 'typed_data');
  if (typeof sent === 'string' && isLightJson(sent)) {
    try {
      sent = JSON.parse(sent) as unknown;
    } catch {
      throw invalid('typed_data is not JSON.', placeOf('params.typed_data', 'JSON', sent));
    }
  }
  const typedData = readTypedData(sent);
  if (typedData === undefined) {
    throw invalid(
      `typed_data must have types, primaryType, domain and message, with at most ${maxCharacters} characters, ${maxValues} values and ${maxDepth} levels, and no half of a surrogate pair.`,
      placeOf('params.typed_data', 'an object with types, primaryType, domain and message', sent),
    );
  }
  return typedData;
}

/** `undefined` for a value that is not bytes, or is larger than a transaction can carry. */
function readData(sent: unknown = '0x'): Hex | undefined {
  const data = readBytes(sent);
  return data !== undefined && data.length <= 2 + 2 * DATA_MAX_BYTES ? data : undefined;
}

function readTransaction({ params }: JsonObject, { chainId, config }: EvmChain): WantedTransaction {
  const sent = Array.isArray(params) ? (params as unknown[])[0] : readField(params, 'transaction');
  if (!isJsonObject(sent)) {
    const place = placeOf('params.transaction', 'an object', sent);
    throw invalid('params.transaction must be an object.', place);
  }
  const to = readAddress(sent['to']);
  const data = readData(sent['data']);
  const value = readInteger(sent['value'] ?? '0');
  if (to === undefined || data === undefined || value === undefined || value < 0n) {
    throw new WalletError('INVALID_TRANSACTION', 'to, value or data is not well-formed.');
  }
  const optional = (one: string, other: string): bigint | undefined => {
    const given = sent[one] ?? sent[other];
    if (given === undefined || given === null) return undefined;
    const read = readInteger(given);
    if (read !== undefined && read > 0n) return read;
    throw new WalletError('INVALID_TRANSACTION', `${one} is not well-formed.`);
  };
  const gasLimit = optional('gas_limit', 'gas');
  if (gasLimit !== undefined && gasLimit > TRANSACTION_GAS_MAX) {
    throw new WalletError(
      'INVALID_TRANSACTION',
      `gas_limit is above ${TRANSACTION_GAS_MAX.toString()}.`,
    );
  }
  const maxFeePerGas = optional('max_fee_per_gas', 'maxFeePerGas');
  if (maxFeePerGas !== undefined && maxFeePerGas > config.maxGasPriceWei) {
    throw new WalletError(
      'INVALID_TRANSACTION',
      'max_fee_per_gas is above the limit of this service.',
    );
  }
  return {
    chainId,
    to,
    value,
    data,
    gasLimit,
    maxFeePerGas,
    maxPriorityFeePerGas: optional('max_priority_fee_per_gas', 'maxPriorityFeePerGas'),
  };
}

function readField(value: unknown, name: string): unknown {
  return readOptionalObject(value)?.[name];
}

function invalid(message: string, place: Place): WalletError {
  return new WalletError('invalid_request', message, { place });
}
