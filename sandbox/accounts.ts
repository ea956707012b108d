import type { Hex } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';

/** Anvil's published development phrase. Everybody has these keys: never send them real money. */
const MNEMONIC = 'test test test test test test test test test test test junk';

export interface SandboxAccount {
  readonly address: Hex;
  readonly key: Hex;
}

/** One of anvil's twenty funded accounts. */
export function sandboxAccount(index: number): SandboxAccount {
  const account = mnemonicToAccount(MNEMONIC, { addressIndex: index });
  const privateKey = account.getHdKey().privateKey;
  if (privateKey === null) throw new Error('an account without a key');
  return { address: account.address, key: `0x${Buffer.from(privateKey).toString('hex')}` };
}

/** Who is who in the sandbox. */
export const DEPLOYER = sandboxAccount(9);
export const SIGNER = sandboxAccount(0);
export const PAYER = sandboxAccount(1);
export const SELLER = sandboxAccount(2);
export const WALLET_OWNER = sandboxAccount(3);
/** Names the private hub of the agents; it signs nothing. */
export const FILES_HUB = sandboxAccount(4);
