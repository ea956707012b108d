import type { Hex } from 'viem';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { addressWord } from '../../protocol/evm/abi-words.js';
import { AUTHORIZATION_USED_TOPIC, isTransferLog, type Transfer } from '../../protocol/evm/logs.js';
import type { AuthorizationRef } from '../../protocol/schemes/authorization-method.js';
import { bytes32Of } from '../rules/payment-message.js';

const LOOK_BACK_BLOCKS = 25_000n;

type UsedTransfer = AuthorizationRef & Transfer;

/**
 * The transaction that used an authorization.
 *
 * @param claimed - as a seller says; told only where the chain shows that it did.
 * @returns `undefined` where it cannot be found just now.
 */
export async function useTransaction(
  chain: EvmChain,
  ref: UsedTransfer,
  claimed: Hex | undefined,
): Promise<Hex | undefined> {
  try {
    if (claimed !== undefined && (await hasUsed(chain, ref, claimed))) return claimed;
    const found = await chain.uses.find(ref, await chain.recentBlocks(LOOK_BACK_BLOCKS));
    return found.kind === 'found' ? found.use.transaction : undefined;
  } catch (error) {
    if (error instanceof ChainUnavailableError) return undefined;
    throw error;
  }
}

/** Permit2 leaves no event that names the nonce: an earlier payment of the same amount would look the same. */
async function hasUsed(chain: EvmChain, ref: UsedTransfer, hash: Hex): Promise<boolean> {
  if (ref.method !== 'eip3009') return false;
  const receipt = await chain.withView((view) => view.receipt(hash));
  const logs = receipt?.logs ?? [];
  const isUse = logs.some(
    ({ address, topics }) =>
      address === ref.asset &&
      topics[0] === AUTHORIZATION_USED_TOPIC &&
      topics[1] === `0x${addressWord(ref.payer)}` &&
      topics[2] === bytes32Of(ref.nonce),
  );
  return isUse && logs.some((log) => isTransferLog(log, ref));
}
