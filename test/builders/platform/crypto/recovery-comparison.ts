import { secp256k1 } from '@noble/curves/secp256k1';
import { type Hex, keccak256, toHex } from 'viem';
import { recoverSignerWithNoble } from '../../../../src/platform/crypto/recover-signer.js';
import type { RecoverSigner } from '../../../../src/protocol/schemes/verdict.js';

const ORDER = secp256k1.CURVE.n;
/** Of `v`: those of the reference, those that are normalised first, and nonsense. */
const KINDS = ['1b', '1c', '00', '01', '1d', 'ff'];

const word = (value: bigint): string => value.toString(16).padStart(64, '0');

/** The same bytes each run, so that a failure can be repeated. */
export function* pseudoRandom(seed: string): Generator<Hex, never> {
  let state = keccak256(toHex(seed));
  for (;;) {
    yield state;
    state = keccak256(state);
  }
}

/**
 * Recovers signers of made-up signatures, good and bad ones, natively and in JavaScript.
 *
 * @returns how many had a signer.
 * @throws Error naming the first signature on which the two differ.
 */
export function compareRecoveries(native: RecoverSigner, count: number): number {
  const bytes = pseudoRandom('signatures');
  const key = BigInt(bytes.next().value) % ORDER;
  const signed = secp256k1.sign(bytes.next().value.slice(2), key);
  let recovered = 0;
  for (let round = 0; round < count; round += 1) {
    const digest = bytes.next().value;
    const r = round % 7 === 0 ? signed.r : BigInt(bytes.next().value);
    const s = round % 11 === 0 ? ORDER - signed.s : BigInt(bytes.next().value);
    const body = word(round % 500 === 1 ? 0n : r) + word(round % 500 === 2 ? ORDER : s);
    const v = KINDS[round % KINDS.length] ?? '';
    const signature: Hex = round % 97 === 0 ? `0x${body}` : `0x${body}${v}`;
    const answer = native(digest, signature);
    if (answer !== undefined) recovered += 1;
    // Comparing without a matcher: thousands of matchers are slow.
    if (answer !== recoverSignerWithNoble(digest, signature)) {
      throw new Error(`they differ on ${digest} ${signature}`);
    }
  }
  return recovered;
}
