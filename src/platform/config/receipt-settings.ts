import type { Hex } from 'viem';
import { type z } from 'zod';
import type { NetworkConfig } from './network-settings.js';
import { Secret } from './secret.js';
import { listOf, privateKeySetting } from './settings.js';

/** Signed receipts of settlements: none without a key. */
export const RECEIPT_SETTINGS = {
  RECEIPT_KEY: privateKeySetting.optional(),
  /** Keys before it: nothing is signed with them, and what they have signed can still be verified. */
  RECEIPT_KEY_PREVIOUS: listOf(privateKeySetting).default([]),
};

export const RECEIPT_FILE_SETTINGS: readonly string[] = ['RECEIPT_KEY', 'RECEIPT_KEY_PREVIOUS'];

export interface ReceiptConfig {
  readonly key: Secret<Hex>;
  readonly previous: readonly Secret<Hex>[];
}

type ReceiptSettings = z.infer<z.ZodObject<typeof RECEIPT_SETTINGS>>;

/** @returns `undefined` when receipts are off. */
export function receiptConfigOf({
  RECEIPT_KEY: key,
  RECEIPT_KEY_PREVIOUS: previous,
}: ReceiptSettings): ReceiptConfig | undefined {
  if (key === undefined) return undefined;
  return { key: new Secret(key), previous: previous.map((one) => new Secret(one)) };
}

/** A key that says what happened must not be one that makes it happen: each is kept in another place. */
export function receiptProblems(
  { RECEIPT_KEY: key, RECEIPT_KEY_PREVIOUS: previous }: ReceiptSettings,
  networks: readonly Pick<NetworkConfig, 'signerKeys' | 'treasury'>[],
): string[] {
  const signers = new Set(
    networks.flatMap(({ signerKeys, treasury }) =>
      [...signerKeys, ...(treasury === undefined ? [] : [treasury.key])].map((one) =>
        one.kind === 'local' ? one.key.reveal() : undefined,
      ),
    ),
  );
  return [
    ...(key !== undefined && signers.has(key)
      ? ['RECEIPT_KEY: must be a key of its own, not that of a signer']
      : []),
    ...(key === undefined && previous.length > 0
      ? ['RECEIPT_KEY_PREVIOUS: is of no use without RECEIPT_KEY']
      : []),
  ];
}
