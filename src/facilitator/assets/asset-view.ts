import { getAddress } from 'viem';
import type { DomainName } from '../../protocol/evm/token/token-domain.js';
import {
  speaksEip3009,
  type Support,
  type TokenFacts,
} from '../../protocol/evm/token/token-facts.js';
import type { TransferMethod } from '../../protocol/evm/transfer-method.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { AssetView } from './dto/asset.response.js';
import type { KnownAsset } from './known-assets.js';

/** The result of one read of a token, with its time. */
export interface AssetReading {
  readonly at: Date;
  /** `undefined` where there is no contract at the address. */
  readonly facts: TokenFacts | undefined;
}

/** @param reading - absent until the token could be read. */
export function assetView(
  { chainId, asset, builtIn }: KnownAsset,
  reading: AssetReading | undefined,
): AssetView {
  const place = { network: caip2Of(chainId), asset: getAddress(asset) };
  const facts = reading?.facts;
  if (reading !== undefined && facts === undefined) {
    const readAt = reading.at.toISOString();
    return { ...place, isDeployed: false, methods: [], source: 'chain', readAt };
  }
  const speaks = facts === undefined ? 'unclear' : speaksEip3009(facts);
  const methods = methodsOf(speaks, builtIn?.methods);
  const domain = facts?.domain ?? (speaks === 'no' ? undefined : builtIn?.eip712);
  const isInDoubt = speaks === 'unclear' || facts?.decimals === undefined;
  const own = {
    symbol: facts?.symbol ?? builtIn?.symbol,
    decimals: facts?.decimals ?? builtIn?.decimals,
    extra: extraOf(methods, domain),
    eip3009: facts?.eip3009,
    eip2612: facts?.eip2612,
    doubt: isInDoubt ? builtIn?.doubt : undefined,
  };
  return {
    ...place,
    ...present(own),
    methods,
    ...(reading === undefined
      ? { source: builtIn === undefined ? 'settings' : 'built-in' }
      : { isDeployed: true, source: 'chain', readAt: reading.at.toISOString() }),
  };
}

/**
 * Permit2 moves any ERC-20. A method that the chain neither proves nor rules out is shown as its settings report it.
 */
function methodsOf(
  speaks: Support,
  reported: readonly TransferMethod[] = [],
): readonly TransferMethod[] {
  const hasEip3009 = speaks === 'yes' || (speaks === 'unclear' && reported.includes('eip3009'));
  return hasEip3009 ? ['eip3009', 'permit2'] : ['permit2'];
}

function extraOf(
  methods: readonly TransferMethod[],
  domain: DomainName | undefined,
): Readonly<Record<string, string>> | undefined {
  if (!methods.includes('eip3009')) return { assetTransferMethod: 'permit2' };
  return domain && { name: domain.name, version: domain.version };
}

/** The object without its undefined fields. */
function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
