import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import {
  type Hex,
  keccak256,
  parseTransaction,
  serializeTransaction,
  type TransactionSerializableEIP1559,
  type TransactionSerializedEIP1559,
} from 'viem';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { RedisLock } from '../redis-lock.js';
import { TRANSACTION_GAS_MAX, type WantedTransaction } from '../rules/spending.js';
import { RecordSeal } from '../seal/record-seal.js';
import { WalletError } from '../wallet-error.js';
import { sentTransactionKey } from '../wallet-keys.js';
import type { CustodialWallet } from './wallet-provider.js';

const SENT_LIFE_SECONDS = 86_400;

/** Every field is fixed, so signing again makes the same transaction with the same account nonce. */
export type UnsignedTransaction = TransactionSerializableEIP1559 & {
  readonly chainId: number;
  readonly nonce: number;
};

interface Sending {
  readonly wallet: CustodialWallet;
  readonly wanted: WantedTransaction;
  /** The same key sends the same transaction, never a second one. */
  readonly key: string;
  /** Whether it may have been sent under this key; then only the stored one is sent again. */
  readonly isRepeat: boolean;
  /** @returns the signed bytes of exactly this transaction. */
  readonly sign: (unsigned: UnsignedTransaction) => Promise<Hex>;
}

/**
 * Sends transactions of wallets of any key provider. A transaction is stored with its account nonce
 * before it is signed, and its signed bytes before they are sent. So one idempotency key has one
 * account nonce, and each nonce is executed once, even after a crash.
 */
@Injectable()
export class TransactionSender {
  constructor(
    private readonly chains: ChainRegistry,
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly locks: RedisLock,
    private readonly seal: RecordSeal,
  ) {}

  /** One transaction of a wallet at a time: the next one's nonce depends on it. */
  async send({ wallet, wanted, key, isRepeat, sign }: Sending): Promise<Hex> {
    const chain = this.chains.served(wanted.chainId);
    if (chain === undefined)
      throw new WalletError('INVALID_TRANSACTION', 'This service does not serve this network.');
    return this.locks.hold(`tx:${wanted.chainId}:${wallet.address}`, async () => {
      const place = sentTransactionKey(wallet.address, key);
      const stored = readStored(await this.#read(place));
      if (stored?.kind === 'signed') return broadcast(chain, stored.raw, true);
      // Charged before, and the signed transaction was lost: a second one could pay twice.
      if (stored === undefined && isRepeat) throw unknownOutcome();
      const unsigned = stored?.unsigned ?? (await prepare(chain, wallet, wanted));
      await this.#store(place, UNSIGNED_MARK + serializeTransaction(unsigned));
      const raw = await sign(unsigned);
      await this.#store(place, raw);
      return broadcast(chain, raw, false);
    });
  }

  /** @throws WalletError `outcome_unknown` for a record that no wallet process has written. */
  async #read(place: string): Promise<string | undefined> {
    const sealed = await redisCall('wallet_transaction', this.redis.get(place));
    if (sealed === null) return undefined;
    const text = this.seal.open(place, sealed);
    if (text === undefined) throw unknownOutcome();
    return text;
  }

  async #store(place: string, text: string): Promise<void> {
    const sealed = this.seal.seal(place, text);
    await redisCall('wallet_transaction', this.redis.set(place, sealed, 'EX', SENT_LIFE_SECONDS));
  }
}

/** Prefix of a record that is not signed yet. */
const UNSIGNED_MARK = 'unsigned:';

type Stored =
  | { readonly kind: 'signed'; readonly raw: Hex; readonly unsigned?: never }
  | { readonly kind: 'unsigned'; readonly unsigned: UnsignedTransaction };

function readStored(text: string | undefined): Stored | undefined {
  if (text === undefined) return undefined;
  if (!text.startsWith(UNSIGNED_MARK)) return { kind: 'signed', raw: text as Hex };
  const bytes = text.slice(UNSIGNED_MARK.length) as TransactionSerializedEIP1559;
  const { chainId, nonce = 0, ...rest } = parseTransaction(bytes);
  return { kind: 'unsigned', unsigned: { ...rest, chainId, nonce, type: 'eip1559' } };
}

async function prepare(
  chain: EvmChain,
  wallet: CustodialWallet,
  wanted: WantedTransaction,
): Promise<UnsignedTransaction> {
  const { to, value, data } = wanted;
  const call = { from: wallet.address, to, value, data };
  try {
    const [nonce, gas, price] = await chain.withView(async (view) =>
      Promise.all([
        view.transactionCount(wallet.address, 'pending'),
        wanted.gasLimit ?? view.estimateGas(call, TRANSACTION_GAS_MAX),
        view.gasPrice(),
      ]),
    );
    const fee = wanted.maxFeePerGas ?? price;
    const tip = wanted.maxPriorityFeePerGas ?? fee;
    if (fee > chain.config.maxGasPriceWei || tip > fee) {
      throw new WalletError(
        'INVALID_TRANSACTION',
        'The gas price is above the limit of this service.',
      );
    }
    return {
      type: 'eip1559',
      chainId: wanted.chainId,
      nonce,
      gas,
      to,
      value,
      data,
      maxFeePerGas: fee,
      maxPriorityFeePerGas: tip,
    };
  } catch (error) {
    if (!(error instanceof ChainUnavailableError)) throw error;
    throw new WalletError(
      'INVALID_TRANSACTION',
      `The chain refuses this transaction, it needs more than ${TRANSACTION_GAS_MAX.toString()} gas, or no node answers.`,
    );
  }
}

/** @param isRepeat - whether these bytes may have been sent before. */
async function broadcast(chain: EvmChain, raw: Hex, isRepeat: boolean): Promise<Hex> {
  const results = await chain.broadcast(raw);
  const kinds = results.map(({ kind }) => kind);
  if (kinds.includes('accepted') || kinds.includes('already_known')) return keccak256(raw);
  // Its nonce is used, by the transaction itself if it was sent before.
  if (isRepeat && kinds.includes('nonce_too_low')) {
    if (await isOnChain(chain, keccak256(raw))) return keccak256(raw);
    throw unknownOutcome();
  }
  if (kinds.includes('no_funds')) {
    throw new WalletError(
      'INSUFFICIENT_FUNDS',
      'The wallet has too few native coins for the value and the gas.',
    );
  }
  if (kinds.length > 0 && kinds.every((kind) => kind !== 'unknown')) {
    throw new WalletError('INVALID_TRANSACTION', 'The chain refuses this transaction.');
  }
  throw unknownOutcome();
}

async function isOnChain(chain: EvmChain, hash: Hex): Promise<boolean> {
  try {
    const found = await chain.withView((view) => view.transaction(hash));
    return found !== undefined;
  } catch (error) {
    if (error instanceof ChainUnavailableError) return false;
    throw error;
  }
}

function unknownOutcome(): WalletError {
  return new WalletError(
    'outcome_unknown',
    'It is unknown whether the transaction was sent. Check the chain before sending another transaction.',
  );
}
