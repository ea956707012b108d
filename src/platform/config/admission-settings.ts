import type { z } from 'zod';
import {
  addressSetting,
  amountsByAssetSetting,
  assetSetting,
  flagSetting,
  listOf,
} from './settings.js';

export const ADMISSION_SETTINGS = {
  MIN_AMOUNTS: amountsByAssetSetting.default(new Map()),
  ASSETS_ALLOW: listOf(assetSetting).optional(),
  ASSETS_DENY: listOf(assetSetting).default([]),
  PAYEES_ALLOW: listOf(addressSetting).optional(),
  PAYEES_DENY: listOf(addressSetting).default([]),
  PAYMENTS_TO_ONESELF: flagSetting.default('false'),
};

/** Which payments this deployment takes; checked before anything is read from the chain. */
export interface AdmissionLists {
  readonly assetsAllow: ReadonlySet<string> | undefined;
  readonly assetsDeny: ReadonlySet<string>;
  readonly payeesAllow: ReadonlySet<string> | undefined;
  readonly payeesDeny: ReadonlySet<string>;
  /** Least amount by asset, atomic units; 1 for those it does not name. */
  readonly minAmounts: ReadonlyMap<string, bigint>;
  /** Whether a payer may be the payee. */
  readonly allowsPaymentsToOneself: boolean;
}

export function admissionListsOf(
  settings: z.infer<z.ZodObject<typeof ADMISSION_SETTINGS>>,
): AdmissionLists {
  return {
    assetsAllow: settings.ASSETS_ALLOW && new Set(settings.ASSETS_ALLOW),
    assetsDeny: new Set(settings.ASSETS_DENY),
    payeesAllow: settings.PAYEES_ALLOW && new Set(settings.PAYEES_ALLOW),
    payeesDeny: new Set(settings.PAYEES_DENY),
    minAmounts: settings.MIN_AMOUNTS,
    allowsPaymentsToOneself: settings.PAYMENTS_TO_ONESELF === 'true',
  };
}
