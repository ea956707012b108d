import type { Address, Hex } from 'viem';
import type { Authorization } from '../../../../../src/protocol/evm/authorization.js';
import type { ChannelConfig } from '../../../../../src/protocol/schemes/batch-settlement/channel.js';
import type { ClaimBatch } from '../../../../../src/protocol/schemes/batch-settlement/claim-batch.js';
import type {
  Eip3009Deposit,
  Permit2Deposit,
} from '../../../../../src/protocol/schemes/batch-settlement/deposit.js';
import type { Refund } from '../../../../../src/protocol/schemes/batch-settlement/refund.js';
import { CHAIN_ID, channelIdOf, CONFIG } from './channel.js';

const lower = (address: Address): Address => address.toLowerCase() as Address;

interface Parties {
  readonly payer: Address;
  readonly receiver: Address;
  readonly authorizer: Address;
}

/**
 * What moves the money of one channel, as it is accepted.
 *
 * @param n - makes their nonces.
 */
export function channelMoves(
  { payer, receiver, authorizer }: Parties,
  n: number,
): Readonly<Record<'byEip3009' | 'byPermit2' | 'claim' | 'refund', Authorization>> {
  const parties = { payer, receiver, receiverAuthorizer: authorizer, payerAuthorizer: payer };
  const config: ChannelConfig = { ...CONFIG, ...parties, token: lower(CONFIG.token) };
  const ofPayer = { scheme: 'batch-settlement', from: payer, signature: '0x12' } as const;
  const channel = { config, channelId: channelIdOf(config), amount: 1000n };
  const salt: Hex = `0x${n.toString(16).padStart(64, '0')}`;
  const validBefore = 4_000_000_000n;
  const byEip3009: Eip3009Deposit = {
    ...ofPayer,
    ...channel,
    method: 'eip3009',
    validAfter: 0n,
    validBefore,
    salt,
  };
  const byPermit2: Permit2Deposit = {
    ...ofPayer,
    ...channel,
    method: 'permit2',
    nonce: BigInt(n),
    deadline: validBefore,
    sponsoredPermit: undefined,
  };
  const claimed = BigInt(n);
  const rows = [{ config, maxClaimable: claimed, totalClaimed: claimed, signature: salt }];
  const claim: ClaimBatch = {
    ...ofPayer,
    from: receiver,
    method: 'channel-claim',
    chainId: CHAIN_ID,
    rows,
  };
  const refund: Refund = {
    ...ofPayer,
    ...channel,
    method: 'channel-refund',
    chainId: CHAIN_ID,
    refundNonce: BigInt(n),
    rows: [],
    claimSignature: undefined,
  };
  return { byEip3009, byPermit2, claim, refund };
}
