import type { Hex } from 'viem';
import { type z } from 'zod';
import type { NetworkConfig } from './network-settings.js';
import { Secret } from './secret.js';
import { listOf, privateKeySetting } from './settings.js';

/** Signed receipts of settlements; off without a key. */
export const RECEIPT_SETTINGS = {
  RECEIPT_KEY: privateKeySetting.optional(),
  /** Earlier keys. They sign nothing, and verify earlier receipts. */
  RECEIPT_KEY_PREVIOUS: listOf(privateKeySetting).default([]),
};

export const RECEIPT_FILE_SETTINGS: readonly string[] = ['RECEIPT_KEY', 'RECEIPT_KEY_PREVIOUS'];

export interface ReceiptConfig {
  readonly key: Secret<Hex>;
  readonly previous: readonly Secret<Hex>[];
}

type ReceiptSettings = z.infer<z.ZodObject<typeof RECEIPT_SETTINGS>>;

/** @returns `undefined` if receipts are off. */
export function receiptConfigOf({
  RECEIPT_KEY: key,
  RECEIPT_KEY_PREVIOUS: previous,
}: ReceiptSettings): ReceiptConfig | undefined {
  if (key === undefined) return undefined;
  return { key: new Secret(key), previous: previous.map((one) => new Secret(one)) };
}

/** A key that attests payments must not also be able to make payments. */
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
      ? ['RECEIPT_KEY: must not be the key of a signer; make another key']
      : []),
    ...(key === undefined && previous.length > 0
      ? [
          'RECEIPT_KEY_PREVIOUS: has no effect without RECEIPT_KEY; set RECEIPT_KEY, or remove RECEIPT_KEY_PREVIOUS',
        ]
      : []),
  ];
}
