import { type Address, type Hex, isHex } from 'viem';

/** A call that is tried on the state as it is, and leaves nothing behind. */
export interface TriedCall {
  readonly to: Address;
  readonly data: Hex;
  /** Gas that it may take. */
  readonly gas: bigint;
}

export interface BatchCall {
  readonly calls: readonly TriedCall[];
  /** Accounts that are looked at for code. */
  readonly accounts: readonly Address[];
}

interface BatchCallAnswer {
  /** For each call, whether it returned. */
  readonly returned: readonly boolean[];
  /** For each account, whether there is code. */
  readonly hasCode: readonly boolean[];
}

/** What a program may take up (EIP-3860). */
export const PROGRAM_MAX_BYTES = 49_152;
/** Gas beside that of the calls: to make an account for each, to copy what it runs, and to look at accounts (EIP-2929). */
const PROGRAM_GAS = 100_000n;
const CALL_GAS = 60_000n;
const ACCOUNT_GAS = 5_000n;
/** Of the program's own bytes, none of which is taken to be zero (EIP-2028, EIP-3860). */
const BYTE_GAS = 17n;

/** Where what a call runs is copied to, above the results: of them there are fewer. */
const SCRATCH = '0400';
/** Says that the answer is one: no program of an empty account returns it. */
const MARK = '01';

/**
 * The code of a contract that is never made: run as an `eth_call` without a receiver it answers many questions in one
 * go. Each call is made by an account of its own, which is undone right after it (EIP-140): what one call changes, none
 * of the others sees, and none of them can take the gas of another. It returns a mark, a byte for each call and a byte
 * for each account.
 *
 * Code in a creation is run by every node; Multicall3 would neither undo a call nor bound its gas.
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

/** Makes one call, and undoes it with a byte that says whether it returned. */
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

/** Gas that the whole may take. */
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

/** `undefined` for what is no answer to these questions. */
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
