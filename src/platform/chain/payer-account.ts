import type { Address, Hex } from 'viem';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { PayerAccount } from '../../protocol/evm/approval-chain.js';
import type { ChainView } from './chain-view.js';
import type { EvmChain } from './evm-chain.js';
import { eachAnswer } from './quorum.js';
import { countPending } from './transaction-counts.js';

type Asked = Pick<EvmChain, 'chainId' | 'views' | 'withView' | 'quorumRead' | 'transactionCountAt'>;

/** Of a payer at one block. */
interface ConfirmedAccount {
  /** Account nonces below this are used. */
  readonly used: number;
  readonly balanceWei: bigint;
}

/**
 * The account of a payer at the newest block, confirmed by two endpoints where there are two.
 *
 * @throws ChainUnavailableError, EndpointsDisagreeError
 */
export async function confirmedAccount(chain: Asked, payer: Address): Promise<ConfirmedAccount> {
  const { usedNonces, balanceWei } = await confirmedLevel(chain, payer, payer);
  return { used: usedNonces, balanceWei };
}

/**
 * The balance of one account and the used account nonces of another one at the newest block, on which two endpoints
 * agree, if there are two.
 *
 * @throws ChainUnavailableError, EndpointsDisagreeError
 */
export async function confirmedLevel(
  chain: Asked,
  of: Address,
  sender: Address,
): Promise<{ readonly balanceWei: bigint; readonly usedNonces: number }> {
  const block = await chain.withView((view) => view.latestBlock());
  const [usedNonces, balanceWei] = await Promise.all([
    chain.transactionCountAt(sender, block),
    balanceAt(chain, of, block.hash),
  ]);
  return { balanceWei, usedNonces };
}

/**
 * The account of a payer on which two endpoints agree, if there are two, at one block. A transaction in only one pool
 * does not count, and of two prices the lower one does.
 *
 * @param hash - of the payer's own transaction, which any endpoint may have.
 * @throws ChainUnavailableError, EndpointsDisagreeError
 */
export async function confirmedPayer(
  chain: Asked,
  payer: Address,
  hash: Hex,
): Promise<PayerAccount> {
  const { chainId } = chain;
  const views = chain.views();
  const [{ used, balanceWei }, pending, offers, known] = await Promise.all([
    confirmedAccount(chain, payer),
    countPending({ chainId, views }, payer),
    eachAnswer(views, offerOf),
    eachAnswer(views, (view) => view.transaction(hash)),
  ]);
  const gasPriceWei = lowest(offers.map(({ price }) => price));
  if (gasPriceWei === undefined) throw new ChainUnavailableError(chainId, 'gas price');
  return {
    used,
    pending,
    balanceWei,
    gasPriceWei,
    isKnown: known.some((transaction) => transaction !== undefined),
    baseFeePerGas: lowest(offers.map(({ baseFeePerGas = 0n }) => baseFeePerGas)),
  };
}

function balanceAt(chain: Asked, account: Address, blockHash: Hex): Promise<bigint> {
  return chain.quorumRead({
    what: 'balance',
    ability: 'state',
    read: async (view) => {
      const value = await view.balance(account, { blockHash });
      return { value, key: String(value), subject: blockHash };
    },
  });
}

async function offerOf(
  view: ChainView,
): Promise<{ readonly price: bigint; readonly baseFeePerGas: bigint | undefined }> {
  const [price, { baseFeePerGas }] = await Promise.all([view.gasPrice(), view.latestBlock()]);
  return { price, baseFeePerGas };
}

function lowest(values: readonly bigint[]): bigint | undefined {
  return [...values].sort((a, b) => (a < b ? -1 : 1))[0];
}
