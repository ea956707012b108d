import {
  type Address,
  encodeFunctionData,
  type Hex,
  parseAbi,
  type PublicClient,
  serializeErc6492Signature,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

const FACTORY_ABI = parseAbi([
  'function createAccount(address owner, uint256 salt) returns (address)',
  'function addressOf(address owner, uint256 salt) view returns (address)',
]);

export interface SmartWallet {
  readonly address: Address;
  isDeployed(): Promise<boolean>;
  /** As the libraries of smart wallets do: wrapped by ERC-6492 while the wallet is not there. */
  signTypedData(message: object): Promise<Hex>;
  /** EIP-191, in the same way. */
  signMessage(message: string): Promise<Hex>;
}

/** A wallet that belongs to a key, at the place that its factory has for it; nothing is sent for it. */
export async function smartWallet(
  client: Pick<PublicClient, 'readContract' | 'getCode'>,
  factory: Address,
  ownerKey: Hex,
  salt = 0n,
): Promise<SmartWallet> {
  const owner = privateKeyToAccount(ownerKey);
  const args = [owner.address, salt] as const;
  const abi = FACTORY_ABI;
  const address = await client.readContract({
    abi,
    args,
    address: factory,
    functionName: 'addressOf',
  });
  const data = encodeFunctionData({ abi, args, functionName: 'createAccount' });
  const isDeployed = async (): Promise<boolean> =>
    ((await client.getCode({ address })) ?? '0x') !== '0x';
  const asItIs = async (signature: Hex): Promise<Hex> =>
    (await isDeployed())
      ? signature
      : serializeErc6492Signature({ address: factory, data, signature });
  return {
    address,
    isDeployed,
    signTypedData: async (message) =>
      asItIs(await owner.signTypedData(message as Parameters<typeof owner.signTypedData>[0])),
    signMessage: async (message) => asItIs(await owner.signMessage({ message })),
  };
}
