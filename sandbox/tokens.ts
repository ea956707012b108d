import { type Address, encodeFunctionData, parseAbi } from 'viem';
import { type SandboxClient, sendNow } from './deploy.js';

/** What the sandbox's tokens have beyond ERC-20: everybody may mint. */
export const TOKEN_ABI = parseAbi([
  'function mint(address to, uint256 value)',
  'function balanceOf(address owner) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
  'function approve(address spender, uint256 value) returns (bool)',
  'function transfer(address to, uint256 value) returns (bool)',
]);

export async function mint(
  client: SandboxClient,
  token: Address,
  to: Address,
  value: bigint,
): Promise<void> {
  const data = encodeFunctionData({ abi: TOKEN_ABI, functionName: 'mint', args: [to, value] });
  await sendNow(client, { to: token, data });
}

/** Approves on behalf of the client's own account. */
export async function approve(
  client: SandboxClient,
  token: Address,
  spender: Address,
  value: bigint,
): Promise<void> {
  const args = [spender, value] as const;
  const data = encodeFunctionData({ abi: TOKEN_ABI, functionName: 'approve', args });
  await sendNow(client, { to: token, data });
}

export function balanceOf(client: SandboxClient, token: Address, owner: Address): Promise<bigint> {
  return client.readContract({
    address: token,
    abi: TOKEN_ABI,
    functionName: 'balanceOf',
    args: [owner],
  });
}
