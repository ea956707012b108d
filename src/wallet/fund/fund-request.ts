import { type Address, formatUnits, getAddress, parseUnits, zeroAddress } from 'viem';
import type { z } from 'zod';
import type { WalletAsset } from '../../platform/config/wallet-assets.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { FundAnswer, FundInput } from '../tools/fund-shapes.js';
import { WalletError } from '../wallet-error.js';
import { qrPicture } from './qr-picture.js';

/** What all coins of EVM chains have. */
const COIN_DECIMALS = 18;

type Asked = z.infer<typeof FundInput>;

interface Asset {
  readonly chainId: number;
  /** `undefined` for the native coin. */
  readonly token: Address | undefined;
  readonly symbol: string;
  readonly decimals: number;
}

/**
 * How anyone puts money into a wallet. It makes no request and signs nothing: it is the wallet's
 * own address in a form that other wallets understand.
 *
 * @param chainIds - of the networks that are served.
 * @throws WalletError `invalid_request`
 */
export function fundRequest(
  wallet: Address,
  assets: readonly WalletAsset[],
  chainIds: readonly number[],
  asked: Asked,
): FundAnswer {
  const address = getAddress(wallet);
  const networks = chainIds.map(caip2Of);
  const { token, amount } = asked;
  if (token === undefined && amount !== undefined) {
    throw invalid('"amount" needs "token".');
  }
  const asset = token === undefined ? undefined : assetOf(token, asked.network, assets, chainIds);
  if (asset === undefined) return { address, networks, qrText: address, qr: pictureOf(address) };
  const atomic = amount === undefined ? undefined : atomicOf(amount, asset.decimals);
  const uri =
    asset.token === undefined
      ? coinRequest(asset.chainId, wallet, atomic)
      : tokenRequest(asset.token, asset.chainId, wallet, atomic);
  return {
    address,
    networks,
    request: {
      uri,
      symbol: asset.symbol,
      asset: asset.token ?? zeroAddress,
      network: caip2Of(asset.chainId),
      ...(atomic !== undefined && {
        atomic: atomic.toString(),
        decimal: formatUnits(atomic, asset.decimals),
      }),
    },
    qrText: uri,
    qr: pictureOf(uri),
  };
}

/** One asset, or an error: money sent on another network than was meant is hard to get back. */
function assetOf(
  named: string,
  network: string | undefined,
  assets: readonly WalletAsset[],
  chainIds: readonly number[],
): Asset {
  const all: Asset[] = [
    ...chainIds.map((chainId) => ({
      chainId,
      token: undefined,
      symbol: 'native coin',
      decimals: COIN_DECIMALS,
    })),
    ...assets
      .filter(({ chainId }) => chainIds.includes(chainId))
      .map(({ address, ...asset }) => ({ ...asset, token: address })),
  ];
  const name = named.toLowerCase();
  const isNamed = ({ token, symbol }: Asset): boolean =>
    token === undefined ? name === 'native' : name === token || name === symbol.toLowerCase();
  const found = all.filter(
    (asset) => isNamed(asset) && (network === undefined || network === caip2Of(asset.chainId)),
  );
  const [first, ...more] = found;
  if (first === undefined) {
    throw invalid('This wallet has no such "token" there: see wallet_balance, or say "native".');
  }
  if (more.length === 0) return first;
  throw invalid('Several tokens have that name: give "network", or the address of the token.');
}

/** Exactly: a request for less than was said would not be what was said. */
function atomicOf(amount: string, decimals: number): bigint {
  const [, fraction = ''] = amount.split('.');
  const atomic = parseUnits(amount, decimals);
  if (fraction.replace(/0+$/, '').length > decimals || atomic === 0n) {
    throw invalid(`"amount" must be above 0, with at most ${decimals} decimals.`);
  }
  return atomic;
}

function pictureOf(text: string): FundAnswer['qr'] {
  return { mimeType: 'image/png', data: qrPicture(text).toString('base64') };
}

function invalid(message: string): WalletError {
  return new WalletError('invalid_request', message);
}

/**
 * A request to be paid as wallets read it from a link or a picture (EIP-681).
 *
 * @param amount - atomic units; the payer chooses it where it is absent.
 */
function tokenRequest(
  token: Address,
  chainId: number,
  to: Address,
  amount: bigint | undefined,
): string {
  const value = amount === undefined ? '' : `&uint256=${amount}`;
  return `ethereum:${getAddress(token)}@${chainId}/transfer?address=${getAddress(to)}${value}`;
}

/** The same in the native coin of a chain. @param amount - wei. */
function coinRequest(chainId: number, to: Address, amount: bigint | undefined): string {
  const value = amount === undefined ? '' : `?value=${amount}`;
  return `ethereum:${getAddress(to)}@${chainId}${value}`;
}
