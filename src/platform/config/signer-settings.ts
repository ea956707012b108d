import type { Address, Hex } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { z } from 'zod';
import { Secret } from './secret.js';
import { httpUrlSetting, integerSetting } from './settings.js';

/** Settings of key services. */
export const SIGNER_SETTINGS = {
  /** Time limit of one signature, with all tries. */
  SIGNER_TIMEOUT_MS: integerSetting(200, 10_000).default(2000),
  AWS_KMS_ENDPOINT: httpUrlSetting.optional(),
  GCP_KMS_ENDPOINT: httpUrlSetting.optional(),
};

export interface SignerConfig {
  readonly timeoutMs: number;
  /** Replaces the endpoint of the service. */
  readonly awsEndpoint: string | undefined;
  readonly gcpEndpoint: string | undefined;
}

export function signerConfigOf(
  settings: z.infer<z.ZodObject<typeof SIGNER_SETTINGS>>,
): SignerConfig {
  return {
    timeoutMs: settings.SIGNER_TIMEOUT_MS,
    awsEndpoint: settings.AWS_KMS_ENDPOINT,
    gcpEndpoint: settings.GCP_KMS_ENDPOINT,
  };
}

/** The key of a lane, or its place in a key service. */
export type SignerKey =
  | { readonly kind: 'local'; readonly key: Secret<Hex> }
  | {
      readonly kind: 'aws-kms' | 'gcp-kms';
      /** The name of the key in the service. */
      readonly name: string;
      /** The expected address of the key. Lower case. */
      readonly address: Address;
    };

/** `0x…`, `aws-kms:<key>@0x…` or `gcp-kms:<key version>@0x…`. A name contains neither `@` nor blanks. */
const LOCAL = /^0x[0-9a-fA-F]{64}$/;
const ADDRESS = '@(0x[0-9a-fA-F]{40})';
const AWS = new RegExp(`^aws-kms:([A-Za-z0-9:/_-]{1,512})${ADDRESS}$`);
const GCP = new RegExp(
  `^gcp-kms:(projects/[^/@\\s]{1,100}/locations/[^/@\\s]{1,63}/keyRings/[^/@\\s]{1,63}` +
    `/cryptoKeys/[^/@\\s]{1,63}/cryptoKeyVersions/[1-9]\\d{0,9})${ADDRESS}$`,
);

export const signerKeySetting: z.ZodType<SignerKey, string> = z
  .string()
  .transform((text, context): SignerKey => {
    if (LOCAL.test(text)) return { kind: 'local', key: new Secret(text.toLowerCase() as Hex) };
    const aws = AWS.exec(text);
    if (aws !== null) return kept('aws-kms', aws);
    const gcp = GCP.exec(text);
    if (gcp !== null) return kept('gcp-kms', gcp);
    context.addIssue(
      'must be a private key: 0x and 64 hex digits; or aws-kms:<key>@<address>, or gcp-kms:<key version>@<address>',
    );
    return z.NEVER;
  });

function kept(
  kind: 'aws-kms' | 'gcp-kms',
  [, name = '', address = '']: RegExpExecArray,
): SignerKey {
  return { kind, name, address: address.toLowerCase() as Address };
}

/** The account of the key. Lower case. */
export function addressOf(one: SignerKey): Address {
  if (one.kind !== 'local') return one.address;
  return privateKeyToAddress(one.key.reveal()).toLowerCase() as Address;
}

/** Whether two keys have the same account: its lane would have two writers in one process. */
export function hasTwice(keys: readonly SignerKey[]): boolean {
  // Addresses of private keys are computed only if other keys are given by address.
  const areLocal = keys.every(({ kind }) => kind === 'local');
  const names = keys.map((one) => {
    return areLocal && one.kind === 'local' ? one.key.reveal() : addressOf(one);
  });
  return new Set(names).size < names.length;
}
