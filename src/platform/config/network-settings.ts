import { z } from 'zod';
import type { ApprovalLimits } from '../../protocol/evm/approval-chain.js';
import {
  EXACT_PERMIT2_PROXY,
  type SchemeContracts,
  UPTO_PERMIT2_PROXY,
} from '../../protocol/evm/contracts.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { BUILT_IN_NETWORKS, type BuiltInToken } from './built-in-networks.js';
import { Secret } from './secret.js';
import {
  addressSetting,
  decimalSetting,
  describeIssues,
  type GivenSettings,
  httpUrlSetting,
  integerSetting,
  listOf,
} from './settings.js';
import { hasTwice, type SignerKey, signerKeySetting } from './signer-settings.js';
import { TREASURY_SETTINGS, type TreasuryConfig, treasuryOf } from './treasury-settings.js';

/** Settings per chain: `NAME_<chainId>`. */
export const ChainSettings = z.object({
  RPC_URLS: listOf(httpUrlSetting).optional(),
  SIGNER_KEYS: listOf(signerKeySetting).optional(),
  EXACT_PERMIT2_PROXY: addressSetting.default(EXACT_PERMIT2_PROXY),
  UPTO_PERMIT2_PROXY: addressSetting.default(UPTO_PERMIT2_PROXY),
  /** Gwei in the setting; wei here. */
  MAX_GAS_PRICE_GWEI: decimalSetting(9).default(5_000_000_000n),
  /** Whole native coins per day (UTC) in the setting; wei here. */
  GAS_BUDGET_DAILY: decimalSetting(18).optional(),
  GAS_BUDGET_PAYEE_DAILY: decimalSetting(18).optional(),
  /** Whole native coins per day (UTC) for approvals of payers; off if unset. */
  APPROVAL_SPONSORING: decimalSetting(18).optional(),
  APPROVAL_MAX_GAS: integerSetting(21_000, 1_000_000).default(100_000),
  APPROVAL_MAX_FEE_GWEI: decimalSetting(9).default(1_000_000_000n),
  APPROVAL_MAX_TOP_UP: decimalSetting(18).default(100_000_000_000_000n),
  /** URL of a block explorer with `/address/…` and `/tx/…`. */
  EXPLORER_URL: httpUrlSetting.optional(),
  ...TREASURY_SETTINGS,
});

/** Limits of the costs of sponsored approvals on a chain. */
export interface ApprovalSponsoring {
  /** Wei per day, for top-ups and their gas. */
  readonly dailyWei: bigint;
  readonly limits: ApprovalLimits;
}

export interface NetworkConfig {
  readonly chainId: number;
  /** CAIP-2. */
  readonly network: string;
  readonly rpcUrls: readonly Secret<string>[];
  /** Whether the endpoints are the built-in public ones, which are for trials only. */
  readonly usesPublicEndpoints: boolean;
  /** One lane per key. */
  readonly signerKeys: readonly SignerKey[];
  readonly schemeContracts: SchemeContracts;
  readonly maxGasPriceWei: bigint;
  /** Wei per day and lane, and wei per day and payee; unlimited if absent. */
  readonly dailyGasBudgetWei: bigint | undefined;
  readonly dailyPayeeGasBudgetWei: bigint | undefined;
  /** `undefined` if approvals are not sponsored. */
  readonly approvalSponsoring?: ApprovalSponsoring | undefined;
  /** `undefined` if lanes are not refilled. */
  readonly treasury?: TreasuryConfig | undefined;
  readonly knownTokens: readonly BuiltInToken[];
  /** URL of a block explorer, without a trailing slash. */
  readonly explorerUrl?: string | undefined;
  /** Symbol of the native coin, if known. */
  readonly coin?: string | undefined;
  /** The minimum tip that validators accept, in wei, if known. RPC providers may require more. */
  readonly leastTipWei?: bigint | undefined;
}

/**
 * The settings of one chain.
 *
 * @param sharedKeys - from `SIGNER_KEYS`, for chains without their own keys.
 * @param problems - collects the problems.
 */
export function readNetwork(
  chainId: number,
  given: GivenSettings,
  sharedKeys: readonly SignerKey[],
  problems: string[],
): NetworkConfig {
  const suffix = `_${chainId}`;
  const own = Object.fromEntries(
    Object.keys(ChainSettings.shape).map((name) => [name, given[name + suffix]]),
  );
  const parsed = ChainSettings.safeParse(own);
  if (!parsed.success) problems.push(...describeIssues(parsed.error, suffix));
  const settings = parsed.success ? parsed.data : ChainSettings.parse({});
  const builtIn = BUILT_IN_NETWORKS.find((network) => network.chainId === chainId);
  const rpcUrls = settings.RPC_URLS ?? builtIn?.publicRpcUrls ?? [];
  if (rpcUrls.length === 0 && parsed.success) {
    problems.push(
      `RPC_URLS${suffix}: is required: there is no built-in endpoint for ${caip2Of(chainId)}`,
    );
  }
  const keys = settings.SIGNER_KEYS ?? sharedKeys;
  if (hasTwice(keys)) problems.push(`SIGNER_KEYS${suffix}: the same key is given twice`);
  return {
    chainId,
    network: caip2Of(chainId),
    rpcUrls: rpcUrls.map((url) => new Secret(url)),
    usesPublicEndpoints: settings.RPC_URLS === undefined,
    signerKeys: keys,
    schemeContracts: {
      permit2Proxy: settings.EXACT_PERMIT2_PROXY,
      uptoProxy: settings.UPTO_PERMIT2_PROXY,
    },
    maxGasPriceWei: settings.MAX_GAS_PRICE_GWEI,
    dailyGasBudgetWei: settings.GAS_BUDGET_DAILY,
    dailyPayeeGasBudgetWei: settings.GAS_BUDGET_PAYEE_DAILY,
    approvalSponsoring: approvalSponsoringOf(settings, builtIn?.leastTipWei),
    treasury: treasuryOf(settings, keys, suffix, problems),
    knownTokens: builtIn?.tokens ?? [],
    explorerUrl: (settings.EXPLORER_URL ?? builtIn?.explorerUrl)?.replace(/\/+$/, ''),
    coin: builtIn?.coin,
    leastTipWei: builtIn?.leastTipWei,
  };
}

/** @param problems - collects the problem of a worker without any key. */
export function checkWorkerHasKeys(networks: readonly NetworkConfig[], problems: string[]): void {
  if (networks.some((network) => network.signerKeys.length > 0)) return;
  problems.push('SIGNER_KEYS: the role worker needs a key, here or in SIGNER_KEYS_<chainId>');
}

function approvalSponsoringOf(
  settings: z.output<typeof ChainSettings>,
  leastTipWei: bigint | undefined,
): ApprovalSponsoring | undefined {
  const dailyWei = settings.APPROVAL_SPONSORING;
  if (dailyWei === undefined || dailyWei === 0n) return undefined;
  return {
    dailyWei,
    limits: {
      gas: BigInt(settings.APPROVAL_MAX_GAS),
      maxFeePerGas: settings.APPROVAL_MAX_FEE_GWEI,
      topUpWei: settings.APPROVAL_MAX_TOP_UP,
      leastTipWei,
    },
  };
}

/** The limits of sponsored approvals, by chain; chains without sponsoring are missing. */
export function approvalLimitsOf({
  networks,
}: {
  readonly networks: readonly Pick<NetworkConfig, 'chainId' | 'approvalSponsoring'>[];
}): ReadonlyMap<number, ApprovalLimits> {
  return new Map(
    networks.flatMap(({ chainId, approvalSponsoring }) =>
      approvalSponsoring === undefined ? [] : [[chainId, approvalSponsoring.limits] as const],
    ),
  );
}

/** Assets (`eip155:56/0x…`) whose payments may share a transaction unless settings say otherwise. */
export function builtInBatchSafeAssets(): string[] {
  return BUILT_IN_NETWORKS.flatMap(({ chainId, tokens }) =>
    tokens
      .filter((token) => token.isBatchSafe)
      .map((token) => `${caip2Of(chainId)}/${token.address}`),
  );
}
