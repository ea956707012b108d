import { type Address, type Hex, zeroAddress } from 'viem';
import { readAddress } from '../../protocol/payment/wire-values.js';
import type { KnownContracts } from './decode-typed-data.js';
import type { Signable, WantedTransaction } from './spending.js';

/** Function selectors (Solidity ABI) of ERC-20 and related standards. */
const TRANSFER = '0xa9059cbb';
/** approve, increaseAllowance, decreaseAllowance, permit, setApprovalForAll, Permit2 approve. */
const APPROVALS: ReadonlySet<string> = new Set([
  '0x095ea7b3',
  '0x39509351',
  '0xa457c2d7',
  '0xd505accf',
  '0xa22cb465',
  '0x87517c45',
]);

/** How long a sent transaction counts as possibly not yet executed, in seconds. */
const TRANSACTION_LIFE_SECONDS = 3600;

/**
 * Describes the effect of a transaction. Plain transfers are counted like payments; any other call needs its own scope,
 * because its effect is unknown.
 *
 * @param id - unique for this transaction.
 * @param now - Unix seconds.
 */
export function decodeTransaction(
  wanted: WantedTransaction,
  known: KnownContracts,
  id: string,
  now: number,
): Signable {
  const { chainId, to, value, data } = wanted;
  const moved = (asset: Address, payTo: Address, amount: bigint) => ({
    id: `tx:${chainId}:${id}`,
    chainId,
    method: 'transaction' as const,
    asset,
    payTo,
    amount,
    nonce: 0n,
    deadline: now + TRANSACTION_LIFE_SECONDS,
  });
  if (data === '0x') {
    return { kind: 'transfer', spending: moved(zeroAddress, to, value), token: undefined };
  }
  const selector = data.slice(0, 10);
  if (APPROVALS.has(selector)) return { kind: 'scoped', scope: 'approve', what: 'an approval' };
  const token = known.token(chainId, to);
  const transfer = selector === TRANSFER && value === 0n ? readTransfer(data) : undefined;
  if (token !== undefined && transfer !== undefined) {
    return { kind: 'transfer', spending: moved(to, transfer.payTo, transfer.amount), token };
  }
  return { kind: 'scoped', scope: 'contract_call', what: 'a contract call' };
}

function readTransfer(data: Hex): { readonly payTo: Address; readonly amount: bigint } | undefined {
  if (data.length !== 10 + 128 || !/^0{24}$/.test(data.slice(10, 34))) return undefined;
  const payTo = readAddress(`0x${data.slice(34, 74)}`);
  return payTo && { payTo, amount: BigInt(`0x${data.slice(74)}`) };
}
