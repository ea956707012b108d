import {
  type Address,
  encodeFunctionData,
  type Hex,
  parseAbi,
  serializeErc6492Signature,
} from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { SandboxClient } from '../../sandbox/deploy.js';
import { type Body, type Json, newAccount, newNonce } from './payments.js';

/** How `MoodyFactory` behaves when it is asked for a wallet. */
export type Mood =
  'honest' | 'finding' | 'idle' | 'reverting' | 'burning' | 'talking' | 'reentering';

const MOODY_ABI = parseAbi([
  'function honest(address owner, bytes32 salt)',
  'function finding(address owner, bytes32 salt)',
  'function idle(address owner, bytes32 salt)',
  'function reverting(address owner, bytes32 salt)',
  'function burning(address owner, bytes32 salt)',
  'function talking(address owner, bytes32 salt)',
  'function reentering(address owner, bytes32 salt, address target, bytes data)',
  'function addressOf(address owner, bytes32 salt) view returns (address)',
]);

/** A wallet that its factory has yet to make. */
export interface UndeployedWallet {
  readonly address: Address;
  readonly owner: PrivateKeyAccount;
  readonly factory: Address;
  /** The call that makes it. */
  dataFor(mood: Mood, inner?: { readonly target: Address; readonly data: Hex }): Hex;
}

/** @param factory - a `MoodyFactory`. */
export async function undeployedWallet(
  client: SandboxClient,
  factory: Address,
): Promise<UndeployedWallet> {
  const [owner, salt] = [newAccount(), newNonce()];
  const args = [owner.address, salt] as const;
  const abi = MOODY_ABI;
  const address = await client.readContract({
    abi,
    args,
    address: factory,
    functionName: 'addressOf',
  });
  return {
    address,
    owner,
    factory,
    dataFor: (mood, { target, data } = { target: factory, data: '0x' }) =>
      mood === 'reentering'
        ? encodeFunctionData({ abi, functionName: mood, args: [...args, target, data] })
        : encodeFunctionData({ abi, functionName: mood, args }),
  };
}

const payloadOf = (body: Body): Json => body.paymentPayload['payload'] as Json;

export const signatureIn = (body: Body): Hex => payloadOf(body)['signature'] as Hex;

/** The same payment with another signature. */
export function withSignature(body: Body, signature: Hex): Body {
  const payload = { ...payloadOf(body), signature };
  return { ...body, paymentPayload: { ...body.paymentPayload, payload } };
}

/** The same payment with its signature in a wrapper (ERC-6492). */
export function wrappedIn(body: Body, factory: Address, data: Hex): Body {
  const signature = signatureIn(body);
  return withSignature(body, serializeErc6492Signature({ address: factory, data, signature }));
}
