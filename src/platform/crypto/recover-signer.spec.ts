import { describe, expect, it } from '@jest/globals';
import { secp256k1 } from '@noble/curves/secp256k1';
import { type Hex, keccak256, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { loadNativeSecp256k1 } from './native-secp256k1.js';
import { loadSignerRecovery, recoverSignerWith, recoverSignerWithNoble } from './recover-signer.js';

const binding = loadNativeSecp256k1();
if (binding === undefined) throw new Error('the native module did not load');
const native = recoverSignerWith(binding);
const ORDER = secp256k1.CURVE.n;
const word = (value: bigint): string => value.toString(16).padStart(64, '0');

/** The same bytes each run, so that a failure can be repeated. */
function* pseudoRandom(seed: string): Generator<Hex, never> {
  let state = keccak256(toHex(seed));
  for (;;) {
    yield state;
    state = keccak256(state);
  }
}

describe('recovery of signers', () => {
  it('loads the native module where its prebuilt binary is', () => {
    expect(loadSignerRecovery().implementation).toBe('native');
  });

  it('agrees with viem on signatures of accounts', async () => {
    const bytes = pseudoRandom('accounts');
    for (let round = 0; round < 50; round += 1) {
      const account = privateKeyToAccount(bytes.next().value);
      const digest = bytes.next().value;
      const signature = await account.sign({ hash: digest });
      const expected = account.address.toLowerCase();
      expect(native(digest, signature)).toBe(expected);
      expect(recoverSignerWithNoble(digest, signature)).toBe(expected);
    }
  });

  it('gives the same answer natively and in JavaScript for ten thousand signatures', () => {
    const bytes = pseudoRandom('signatures');
    const kinds = ['1b', '1c', '00', '01', '1d', 'ff'];
    const key = BigInt(bytes.next().value) % ORDER;
    const signed = secp256k1.sign(bytes.next().value.slice(2), key);
    let recovered = 0;
    for (let round = 0; round < 10_000; round += 1) {
      const digest = bytes.next().value;
      const r = round % 7 === 0 ? signed.r : BigInt(bytes.next().value);
      const s = round % 11 === 0 ? ORDER - signed.s : BigInt(bytes.next().value);
      const body = word(round % 500 === 1 ? 0n : r) + word(round % 500 === 2 ? ORDER : s);
      const v = kinds[round % kinds.length] ?? '';
      const signature: Hex = round % 97 === 0 ? `0x${body}` : `0x${body}${v}`;
      const answer = native(digest, signature);
      if (answer !== undefined) recovered += 1;
      // Comparing without a matcher: ten thousand matchers are slow.
      if (answer !== recoverSignerWithNoble(digest, signature)) {
        throw new Error(`they differ on ${digest} ${signature}`);
      }
    }
    expect(recovered).toBeGreaterThan(1000);
  }, 120_000);
});
