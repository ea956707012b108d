import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { mint } from '../../sandbox/tokens.js';
import { newAccount } from '../support/payments.js';
import type { World } from '../support/world.js';

const ABI = parseAbi([
  'function createAccount(address owner, uint256 salt) returns (address)',
  'function addressOf(address owner, uint256 salt) view returns (address)',
]);

/** A wallet with money that its factory has yet to make. */
export interface FundedWallet {
  readonly address: Address;
  readonly owner: PrivateKeyAccount;
  readonly factory: Address;
  /** The call that makes it. */
  readonly data: Hex;
}

export async function fundedWallets(world: World, count: number): Promise<FundedWallet[]> {
  const { client, usd, walletFactory: factory } = world;
  const wallets: FundedWallet[] = [];
  for (let index = 0; index < count; index += 1) {
    const owner = newAccount();
    const args = [owner.address, 0n] as const;
    const abi = ABI;
    const address = await client.readContract({
      abi,
      args,
      address: factory,
      functionName: 'addressOf',
    });
    await mint(client, usd, address, 10n ** 20n);
    const data = encodeFunctionData({ abi, args, functionName: 'createAccount' });
    wallets.push({ address, owner, factory, data });
  }
  return wallets;
}
