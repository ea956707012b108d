import type { Address } from 'viem';
import { type z } from 'zod';
import { builtInBatchSafeAssets } from './network-settings.js';
import { addressSetting, assetSetting, integerSetting, listOf } from './settings.js';
import { SIGNER_SETTINGS, type SignerConfig, signerConfigOf } from './signer-settings.js';

/** How lanes send, and which payments may share a transaction. */
export const LANE_SETTINGS = {
  ...SIGNER_SETTINGS,
  RETIRING_SIGNERS: listOf(addressSetting).default([]),
  /** A batch above 32 saves little gas, and loses more when it reverts. */
  BATCH_MAX_ITEMS: integerSetting(1, 100).default(32),
  BATCH_SAFE_ASSETS: listOf(assetSetting).optional(),
  BATCH_OPT_OUT: listOf(addressSetting).default([]),
  /** Transactions in flight per signer. BNB nodes keep 200 per account and drop the rest. */
  LANE_WINDOW_MAX: integerSetting(1, 190).default(100),
  LANE_LEASE_MS: integerSetting(1000, 60_000).default(3000),
};

export interface LaneConfig {
  /** Settings of key services. */
  readonly signers: SignerConfig;
  /** Signers that serve only payments that name them. */
  readonly retiringSigners: ReadonlySet<Address>;
  readonly batchMaxItems: number;
  /** Assets (`eip155:56/0x…`) whose payments may share a transaction. */
  readonly batchSafeAssets: ReadonlySet<string>;
  readonly batchOptOut: ReadonlySet<Address>;
  readonly windowMax: number;
  readonly leaseMs: number;
}

export function laneConfigOf(settings: z.infer<z.ZodObject<typeof LANE_SETTINGS>>): LaneConfig {
  return {
    signers: signerConfigOf(settings),
    retiringSigners: new Set(settings.RETIRING_SIGNERS),
    batchMaxItems: settings.BATCH_MAX_ITEMS,
    batchSafeAssets: new Set(settings.BATCH_SAFE_ASSETS ?? builtInBatchSafeAssets()),
    batchOptOut: new Set(settings.BATCH_OPT_OUT),
    windowMax: settings.LANE_WINDOW_MAX,
    leaseMs: settings.LANE_LEASE_MS,
  };
}
