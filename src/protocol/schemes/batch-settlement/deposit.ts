import type { Address, Hex } from 'viem';
import { bytes32Word, uintWord } from '../../evm/abi-words.js';
import type { Authorization, PayerApproval } from '../../evm/authorization.js';
import type { Call } from '../../evm/calls.js';
import { ERC3009_COLLECTOR, PERMIT2_COLLECTOR } from '../../evm/contracts.js';
import type { ChannelConfig } from './channel.js';
import type { BATCH_SETTLEMENT } from './claims.js';
import { depositCall, erc3009CollectorData, permit2CollectorData } from './escrow.js';

/** Money on its way into a channel. The voucher that came with it is no part of it. */
interface Deposit extends Authorization {
  readonly scheme: typeof BATCH_SETTLEMENT;
  readonly config: ChannelConfig;
  /** 32 bytes. */
  readonly channelId: Hex;
  /** Atomic units. */
  readonly amount: bigint;
}

export interface Eip3009Deposit extends Deposit {
  readonly method: 'eip3009';
  /** Unix seconds. */
  readonly validAfter: bigint;
  /** Unix seconds. */
  readonly validBefore: bigint;
  /** 32 bytes; with the channel it makes the nonce. */
  readonly salt: Hex;
}

export interface Permit2Deposit extends Deposit, PayerApproval {
  readonly method: 'permit2';
  readonly nonce: bigint;
  /** Unix seconds. */
  readonly deadline: bigint;
}

export type DepositAuthorization = Eip3009Deposit | Permit2Deposit;

/** The contract that fetches the money. A payload may name any: only these two are called. */
export function collectorOf({ method }: Pick<DepositAuthorization, 'method'>): Address {
  return method === 'eip3009' ? ERC3009_COLLECTOR : PERMIT2_COLLECTOR;
}

export function depositCallOf(deposit: DepositAuthorization): Call {
  const { config, amount } = deposit;
  const data =
    deposit.method === 'eip3009'
      ? erc3009CollectorData(deposit)
      : permit2CollectorData(deposit, encodedPermit(deposit.sponsoredPermit));
  return depositCall(config, amount, collectorOf(deposit), data);
}

/** `abi.encode(uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)` */
function encodedPermit(permit: PayerApproval['sponsoredPermit']): Hex {
  if (permit === undefined) return '0x';
  const { value, deadline, v, r, s } = permit;
  const words = uintWord(value) + uintWord(deadline) + uintWord(v);
  return `0x${words}${bytes32Word(r)}${bytes32Word(s)}`;
}
