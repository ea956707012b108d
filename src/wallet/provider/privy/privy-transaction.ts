import {
  type Address,
  type Hex,
  parseTransaction,
  recoverTransactionAddress,
  serializeTransaction,
  type TransactionSerializableEIP1559,
  type TransactionSerializedEIP1559,
} from 'viem';
import type { UnsignedTransaction } from '../transaction-sender.js';
import { WrongAnswer } from './privy-calls.js';

/** In the form that Privy accepts. */
export function wireTransaction(unsigned: UnsignedTransaction): {
  readonly type: 2;
  readonly chain_id: number;
  readonly nonce: number;
  readonly to?: string;
  readonly [name: string]: unknown;
} {
  const { chainId, nonce, to, value, data, gas, maxFeePerGas, maxPriorityFeePerGas } = unsigned;
  const quantity = (amount: bigint | undefined): Hex => `0x${(amount ?? 0n).toString(16)}`;
  return {
    type: 2,
    chain_id: chainId,
    nonce,
    ...(to != null && { to }),
    value: quantity(value),
    data: data ?? '0x',
    gas_limit: quantity(gas),
    max_fee_per_gas: quantity(maxFeePerGas),
    max_priority_fee_per_gas: quantity(maxPriorityFeePerGas),
  };
}

/**
 * Checks that every field is as requested and that the wallet signed it.
 *
 * @throws WrongAnswer
 */
export async function assertSigned(
  raw: Hex,
  unsigned: UnsignedTransaction,
  address: Address,
): Promise<void> {
  const serialized = raw as TransactionSerializedEIP1559;
  const isSame =
    serializeTransaction(fieldsOf(parseTransaction(serialized))) ===
    serializeTransaction(fieldsOf(unsigned));
  const signer = await recoverTransactionAddress({ serializedTransaction: serialized });
  if (!isSame || signer.toLowerCase() !== address) throw new WrongAnswer();
}

/** All signed fields. */
function fieldsOf(transaction: TransactionSerializableEIP1559): TransactionSerializableEIP1559 {
  const { chainId, nonce = 0, to, value, data, gas, accessList } = transaction;
  const { maxFeePerGas, maxPriorityFeePerGas } = transaction;
  return {
    type: 'eip1559',
    chainId,
    nonce,
    to,
    value,
    data,
    gas,
    maxFeePerGas,
    maxPriorityFeePerGas,
    accessList: accessList ?? [],
  };
}
