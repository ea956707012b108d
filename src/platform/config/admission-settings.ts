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

/** The payments that this deployment accepts, checked before any read from the chain. */
export interface AdmissionLists {
  readonly assetsAllow: ReadonlySet<string> | undefined;
  readonly assetsDeny: ReadonlySet<string>;
  readonly payeesAllow: ReadonlySet<string> | undefined;
  readonly payeesDeny: ReadonlySet<string>;
  /** Minimum amount by asset, in atomic units; 1 for other assets. */
  readonly minAmounts: ReadonlyMap<string, bigint>;
  /** Whether payer and payee may be the same account. */
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
