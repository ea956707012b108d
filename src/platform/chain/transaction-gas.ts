import type { Call } from '../../protocol/evm/calls.js';

/** What a transaction costs before it runs, none of its bytes being zero (EIP-2028): never less than it does. */
export function intrinsicGasOf(call: Call): bigint {
  return 21_000n + 16n * bytesOf(call);
}

/** Below this gas limit a transaction is not taken, whatever it runs (EIP-7623). */
export function floorGasOf(call: Call): bigint {
  return 21_000n + 40n * bytesOf(call);
}

function bytesOf({ data }: Call): bigint {
  return BigInt(Math.ceil((data.length - 2) / 2));
}
