import { type Address, type Hex, isHex } from 'viem';

/** A call that is simulated on the present state and changes nothing. */
export interface TriedCall {
  readonly to: Address;
  readonly data: Hex;
  /** Its gas limit. */
  readonly gas: bigint;
}

export interface BatchCall {
  readonly calls: readonly TriedCall[];
  /** Accounts that are checked for code. */
  readonly accounts: readonly Address[];
}

interface BatchCallAnswer {
  /** For each call, whether it returned. */
  readonly returned: readonly boolean[];
  /** For each account, whether there is code. */
  readonly hasCode: readonly boolean[];
}

/** Size limit of the init code of a program (EIP-3860). */
export const PROGRAM_MAX_BYTES = 49_152;
/** Gas besides that of the calls: to create an account for each, to copy its code, and to read accounts (EIP-2929). */
const PROGRAM_GAS = 100_000n;
const CALL_GAS = 60_000n;
const ACCOUNT_GAS = 5_000n;
/** For each byte of the program, counted as non-zero (EIP-2028, EIP-3860). */
const BYTE_GAS = 17n;

/** Memory offset for the code of a call, above the results, which are shorter. */
const SCRATCH = '0400';
/** Marks an answer of the program: a call to an empty account never returns it. */
const MARK = '01';

/**
 * The init code of a contract that is never created: as an `eth_call` without a receiver it answers many questions in
 * one call. Each call is made by its own account, which is reverted right after it (EIP-140), so no call sees the
 * changes of another or takes its gas. It returns a mark, a byte for each call and a byte for each account.
 *
 * Every node runs init code; Multicall3 would neither revert a call nor limit its gas.
 */
export function encodeBatchCall({ calls, accounts }: BatchCall): Hex {
  const parts = calls.map(tryingCode);
  const head = calls.length * TRY_BYTES + accounts.length * LOOK_BYTES + MARK_BYTES + END_BYTES;
  let offset = head;
  let code = `60${MARK}600053`;
  parts.forEach((part, index) => {
    const size = word2(part.length / 2);
    // CODECOPY(SCRATCH, offset, size); CREATE(0, SCRATCH, size); POP; RETURNDATACOPY(result, 0, RETURNDATASIZE)
    code += `61${size}61${word2(offset)}61${SCRATCH}39`;
    code += `61${size}61${SCRATCH}6000f050`;
    code += `3d600061${word2(index + 1)}3e`;
    offset += part.length / 2;
  });
  accounts.forEach((account, index) => {
    // MSTORE8(result, EXTCODESIZE(account) != 0)
    code += `73${account.slice(2)}3b151561${word2(calls.length + index + 1)}53`;
  });
  // RETURN(0, 1 + results)
  code += `61${word2(calls.length + accounts.length + 1)}6000f3`;
  return `0x${code}${parts.join('')}`;
}

const MARK_BYTES = 5;
const TRY_BYTES = 27;
const LOOK_BYTES = 28;
const END_BYTES = 6;

/** Makes one call and reverts it, with a byte that says whether it succeeded. */
function tryingCode({ to, data, gas }: TriedCall): string {
  const size = word2((data.length - 2) / 2);
  // CODECOPY(0, TRYING_BYTES, size); CALL(gas, to, 0, 0, size, 0, 0); MSTORE8(0, it); REVERT(0, 1)
  return (
    `61${size}60${TRYING_BYTES.toString(16)}600039` +
    `6000600061${size}6000600073${to.slice(2)}63${word(gas, 8)}f1` +
    `60005360016000fd${data.slice(2)}`
  );
}

const TRYING_BYTES = 54;

/** Gas limit for the whole program. */
export function batchGasOf({ calls, accounts }: BatchCall): bigint {
  return calls.reduce(
    (sum, call) => sum + gasOfCall(call),
    PROGRAM_GAS + ACCOUNT_GAS * BigInt(accounts.length),
  );
}

export function gasOfCall({ data, gas }: TriedCall): bigint {
  return gas + CALL_GAS + BYTE_GAS * BigInt(data.length / 2);
}

/** Bytes that a call adds to the program. */
export function bytesOfCall({ data }: TriedCall): number {
  return TRY_BYTES + TRYING_BYTES + (data.length - 2) / 2;
}

/** `undefined` for an answer to other questions. */
export function decodeBatchCall(value: unknown, asked: BatchCall): BatchCallAnswer | undefined {
  const { calls, accounts } = asked;
  const count = calls.length + accounts.length;
  if (!isHex(value) || value.length !== 4 + 2 * count || !value.startsWith(`0x${MARK}`)) {
    return undefined;
  }
  const results: boolean[] = [];
  for (let at = 4; at < value.length; at += 2) {
    const result = value.slice(at, at + 2);
    if (result !== '00' && result !== '01') return undefined;
    results.push(result === '01');
  }
  return { returned: results.slice(0, calls.length), hasCode: results.slice(calls.length) };
}

function word2(value: number): string {
  return word(BigInt(value), 4);
}

function word(value: bigint, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
