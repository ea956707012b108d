import type { z } from 'zod';
import { decimalSetting, integerSetting } from './settings.js';
import { addressOf, type SignerKey, signerKeySetting } from './signer-settings.js';

/**
 * The account that refills the lanes of a chain. Without a key there is no treasury, and the other settings have no
 * effect.
 */
export const TREASURY_SETTINGS = {
  TREASURY_KEY: signerKeySetting.optional(),
  /** A lane that pays for fewer settlements than `…BELOW` is refilled, so that it pays for `…TO`. */
  TREASURY_REFILL_BELOW: integerSetting(1, 1_000_000_000).optional(),
  TREASURY_REFILL_TO: integerSetting(2, 1_000_000_000).optional(),
  /** Whole native coins per day (UTC) with gas in the setting; wei here. */
  TREASURY_DAILY_CAP: decimalSetting(18).optional(),
};

export interface TreasuryConfig {
  readonly key: SignerKey;
  readonly refillBelow: number;
  readonly refillTo: number;
  readonly dailyCapWei: bigint;
}

type TreasurySettings = z.infer<z.ZodObject<typeof TREASURY_SETTINGS>>;

/**
 * @param laneKeys - of the same chain; the key of the treasury must differ.
 * @param problems - collects the problems.
 * @returns `undefined` without a usable treasury.
 */
export function treasuryOf(
  settings: TreasurySettings,
  laneKeys: readonly SignerKey[],
  suffix: string,
  problems: string[],
): TreasuryConfig | undefined {
  const {
    TREASURY_KEY: key,
    TREASURY_REFILL_BELOW: refillBelow,
    TREASURY_REFILL_TO: refillTo,
    TREASURY_DAILY_CAP: dailyCapWei,
  } = settings;
  if (key === undefined) return undefined;
  const needed = { TREASURY_REFILL_BELOW: refillBelow, TREASURY_REFILL_TO: refillTo };
  for (const [name, value] of Object.entries({ ...needed, TREASURY_DAILY_CAP: dailyCapWei })) {
    if (value === undefined)
      problems.push(`${name}${suffix}: is required with TREASURY_KEY${suffix}`);
  }
  const address = addressOf(key);
  if (laneKeys.some((lane) => addressOf(lane) === address)) {
    problems.push(`TREASURY_KEY${suffix}: must not be the key of a lane; make another key`);
  }
  if (dailyCapWei === 0n) problems.push(`TREASURY_DAILY_CAP${suffix}: must be more than 0`);
  if (refillBelow === undefined || refillTo === undefined || dailyCapWei === undefined) {
    return undefined;
  }
  if (refillTo <= refillBelow) {
    problems.push(`TREASURY_REFILL_TO${suffix}: must be more than TREASURY_REFILL_BELOW${suffix}`);
  }
  return { key, refillBelow, refillTo, dailyCapWei };
}
