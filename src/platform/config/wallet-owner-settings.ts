import { isIP } from 'node:net';
import { z } from 'zod';
import { caip2Of, isCaip2 } from '../../protocol/payment/network.js';
import { addressSetting, flagSetting, listOf } from './settings.js';

/** Settings of owners: the allowed addresses, and the ways to sign in. */
export const WALLET_OWNER_SETTINGS = {
  WALLET_OWNERS: listOf(addressSetting).optional(),
  /** The network on which an owner may be a contract. */
  WALLET_CONTRACT_OWNERS: z
    .string()
    .refine(isCaip2, 'must be a network, such as eip155:56')
    .transform((network) => Number(network.slice('eip155:'.length)))
    .optional(),
  /** Owners may use a passkey instead of a key. */
  WALLET_PASSKEYS: flagSetting.default('false'),
};

type OwnerSettings = z.infer<z.ZodObject<typeof WALLET_OWNER_SETTINGS>>;

/** Problems between these settings. */
export function ownerProblems(
  settings: OwnerSettings,
  networks: readonly { readonly chainId: number }[],
  publicUrl: string,
): readonly string[] {
  const problems: string[] = [];
  const chainId = settings.WALLET_CONTRACT_OWNERS;
  if (chainId !== undefined && !networks.some((network) => network.chainId === chainId)) {
    problems.push(`WALLET_CONTRACT_OWNERS: ${caip2Of(chainId)} is not one of NETWORKS`);
  }
  if (settings.WALLET_PASSKEYS !== 'true') return problems;
  if (settings.WALLET_OWNERS !== undefined) {
    problems.push(
      'WALLET_PASSKEYS: cannot be used with WALLET_OWNERS: an owner has no address before the owner makes a passkey',
    );
  }
  if (!isSite(publicUrl)) {
    problems.push(
      'WALLET_PASSKEYS: requires a WALLET_PUBLIC_URL with https and a host name, or with http and localhost',
    );
  }
  return problems;
}

/** Whether a URL allows passkeys: https with a host name, or localhost. */
function isSite(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return false;
  return protocol === 'https:' || hostname === 'localhost';
}
