import { isIP } from 'node:net';
import { z } from 'zod';
import { caip2Of, isCaip2 } from '../../protocol/payment/network.js';
import { addressSetting, flagSetting, listOf } from './settings.js';

/** Who may own a wallet, and how an owner is known. */
export const WALLET_OWNER_SETTINGS = {
  WALLET_OWNERS: listOf(addressSetting).optional(),
  /** The network on which an owner may be a contract. */
  WALLET_CONTRACT_OWNERS: z
    .string()
    .refine(isCaip2, 'must be a network, such as eip155:56')
    .transform((network) => Number(network.slice('eip155:'.length)))
    .optional(),
  /** Owners may have a passkey in the place of a key. */
  WALLET_PASSKEYS: flagSetting.default('false'),
};

type OwnerSettings = z.infer<z.ZodObject<typeof WALLET_OWNER_SETTINGS>>;

/** The problems of these settings together. */
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
    problems.push('WALLET_PASSKEYS: WALLET_OWNERS cannot name an owner before there is a passkey');
  }
  if (!isSite(publicUrl)) {
    problems.push('WALLET_PASSKEYS: needs a WALLET_PUBLIC_URL by https at a host name');
  }
  return problems;
}

/** What passkeys can be made for: a domain by TLS, or this machine by its name. */
function isSite(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return false;
  return protocol === 'https:' || hostname === 'localhost';
}
