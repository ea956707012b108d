import { type Address, formatUnits, getAddress, parseUnits, zeroAddress } from 'viem';
import type { z } from 'zod';
import type { WalletAsset } from '../../platform/config/wallet-assets.js';
import { type Place, placeOf } from '../../protocol/diagnosis/place.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { FundAnswer, FundInput } from '../tools/fund-shapes.js';
import { WalletError } from '../wallet-error.js';
import { qrPicture } from './qr-picture.js';

/** The decimals of native coins on all EVM chains. */
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
 * A request for money to the wallet. It sends nothing and signs nothing: it is the wallet's own address in a form that
 * other wallets read.
 *
 * @param chainIds - the served networks.
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
    throw invalid('"amount" needs "token".', placeOf('token', 'given with amount', token));
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

/** One asset or an error, because money sent on the wrong network is hard to recover. */
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
    throw invalid(
      'This wallet has no such "token" on that network: see wallet_balance, or give "native".',
      placeOf('token', 'a token of this wallet', named),
    );
  }
  if (more.length === 0) return first;
  throw invalid(
    'Several tokens of this wallet have this name: give "network", or the address of the token.',
    placeOf('token', 'the address of a token', named),
  );
}

/** Exact, because a rounded request would differ from what was asked. */
function atomicOf(amount: string, decimals: number): bigint {
  const [, fraction = ''] = amount.split('.');
  const atomic = parseUnits(amount, decimals);
  if (fraction.replace(/0+$/, '').length > decimals || atomic === 0n) {
    const expected = `above 0, with at most ${decimals} decimals`;
    throw invalid(`"amount" must be ${expected}.`, placeOf('amount', expected, amount));
  }
  return atomic;
}

function pictureOf(text: string): FundAnswer['qr'] {
  return { mimeType: 'image/png', data: qrPicture(text).toString('base64') };
}

function invalid(message: string, place: Place): WalletError {
  return new WalletError('invalid_request', message, { place });
}

/**
 * A payment request that wallets read from a link or a QR code (EIP-681).
 *
 * @param amount - atomic units; the payer chooses it if absent.
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
