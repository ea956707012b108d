import type { Redis } from 'ioredis';
import { hashMessage, type Hex, keccak256 } from 'viem';
import { privateKeyToAccount, sign } from 'viem/accounts';
import { quantity, readQuantity } from '../../../chain/block.js';
import type { ChainRegistry } from '../../../chain/chain-registry.js';
import type { EvmChain } from '../../../chain/evm-chain.js';
import { ChainUnavailableError } from '../../../core/errors.js';
import { ledgerCall } from '../../../redis/redis-scripts.js';
import { digestOf } from '../../rules/decode-typed-data.js';
import type { TypedData, WantedTransaction } from '../../rules/spending.js';
import type { RedisLock } from '../../redis-lock.js';
import { WalletError } from '../../wallet-error.js';
import { sentTransactionKey } from '../../wallet-keys.js';
import type { CustodialWallet, SignableMessage, WalletProvider } from '../wallet-provider.js';
import type { Keystore } from './keystore.js';

const SENT_LIFE_SECONDS = 86_400;

/** Keys in encrypted files of this machine. */
export class LocalProvider implements WalletProvider {
  readonly kind = 'local';

  constructor(
    private readonly keystore: Keystore,
    private readonly chains: ChainRegistry,
    private readonly redis: Redis,
    private readonly locks: RedisLock,
  ) {}

  start(): Promise<void> {
    return this.keystore.open();
  }

  async find(subject: string): Promise<CustodialWallet | undefined> {
    const key = await this.keystore.unlock(subject);
    return key && { id: subject, address: key.address };
  }

  async create(subject: string): Promise<CustodialWallet> {
    const { address } = await this.keystore.create(subject);
    return { id: subject, address };
  }

  async signTypedData(wallet: CustodialWallet, typedData: TypedData): Promise<Hex> {
    const digest = digestOf(typedData);
    if (digest === undefined) throw new WalletError('provider_refused', 'It cannot be hashed.');
    return this.#sign(wallet, digest);
  }

  signMessage(wallet: CustodialWallet, message: SignableMessage): Promise<Hex> {
    return this.#sign(wallet, hashMessage(message));
  }

  /** One transaction of a wallet at a time: the next one's nonce depends on it. */
  async sendTransaction(
    wallet: CustodialWallet,
    wanted: WantedTransaction,
    key: string,
    isRepeat: boolean,
  ): Promise<Hex> {
    const chain = this.chains.served(wanted.chainId);
    if (chain === undefined) throw new WalletError('INVALID_TRANSACTION', 'No such network here.');
    return this.locks.hold(`tx:${wanted.chainId}:${wallet.address}`, async () => {
      const place = sentTransactionKey(wallet.address, key);
      const stored = await ledgerCall('wallet_transaction', this.redis.get(place));
      // Charged before, and what was signed then is lost: a second one could pay twice.
      if (stored === null && isRepeat) throw unknownOutcome();
      const raw = (stored as Hex | null) ?? (await this.#prepare(chain, wallet, wanted));
      // Stored before it is sent: asked again, the same bytes are sent again.
      await ledgerCall('wallet_transaction', this.redis.set(place, raw, 'EX', SENT_LIFE_SECONDS));
      return broadcast(chain, raw, stored !== null);
    });
  }

  async #prepare(
    chain: EvmChain,
    wallet: CustodialWallet,
    wanted: WantedTransaction,
  ): Promise<Hex> {
    const { to, value, data } = wanted;
    const call = { from: wallet.address, to, value: quantity(value), data };
    try {
      const [nonce, gas, price] = await chain.withView(async (view) =>
        Promise.all([
          view.read('eth_getTransactionCount', [wallet.address, 'pending']).then(readQuantity),
          wanted.gasLimit ?? view.read('eth_estimateGas', [call]).then(readQuantity),
          view.read('eth_gasPrice', []).then(readQuantity),
        ]),
      );
      if (nonce === undefined || gas === undefined || price === undefined) {
        throw new WalletError('INVALID_TRANSACTION', 'The chain does not take this transaction.');
      }
      const fee = wanted.maxFeePerGas ?? price;
      const tip = wanted.maxPriorityFeePerGas ?? fee;
      if (fee > chain.config.maxGasPriceWei || tip > fee) {
        throw new WalletError('INVALID_TRANSACTION', 'Its gas price is above what is paid here.');
      }
      const account = privateKeyToAccount(await this.#keyOf(wallet));
      return await account.signTransaction({
        type: 'eip1559',
        chainId: wanted.chainId,
        nonce: Number(nonce),
        gas,
        to,
        value,
        data,
        maxFeePerGas: fee,
        maxPriorityFeePerGas: tip,
      });
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      throw new WalletError('INVALID_TRANSACTION', 'The chain does not take this transaction now.');
    }
  }

  async #sign(wallet: CustodialWallet, digest: Hex): Promise<Hex> {
    return sign({ hash: digest, privateKey: await this.#keyOf(wallet), to: 'hex' });
  }

  async #keyOf(wallet: CustodialWallet): Promise<Hex> {
    const key = await this.keystore.unlock(wallet.id);
    if (key?.address !== wallet.address) {
      throw new WalletError(
        'provider_refused',
        'The keystore does not have the key of this wallet.',
      );
    }
    return key.key.reveal();
  }
}

/** @param isRepeat - whether it may have been sent before. */
async function broadcast(chain: EvmChain, raw: Hex, isRepeat: boolean): Promise<Hex> {
  const results = await chain.broadcast(raw);
  const kinds = results.map(({ kind }) => kind);
  if (kinds.includes('accepted') || kinds.includes('already_known')) return keccak256(raw);
  // Its nonce is used: by the transaction itself, if it was sent before.
  if (isRepeat && kinds.includes('nonce_too_low')) return keccak256(raw);
  if (kinds.includes('no_funds')) {
    throw new WalletError('INSUFFICIENT_FUNDS', 'The wallet has too little native coin.');
  }
  if (kinds.length > 0 && kinds.every((kind) => kind !== 'unknown')) {
    throw new WalletError('INVALID_TRANSACTION', 'The chain does not take this transaction.');
  }
  throw unknownOutcome();
}

function unknownOutcome(): WalletError {
  return new WalletError('outcome_unknown', 'It is not known whether the transaction was sent.');
}
