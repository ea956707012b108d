import { describe, expect, it } from '@jest/globals';
import { privateKeyToAccount } from 'viem/accounts';
import {
  compareRecoveries,
  pseudoRandom,
} from '../../../test/builders/platform/crypto/recovery-comparison.js';
import { loadNativeSecp256k1 } from './native-secp256k1.js';
import { loadSignerRecovery, recoverSignerWith, recoverSignerWithNoble } from './recover-signer.js';

const binding = loadNativeSecp256k1();
if (binding === undefined) throw new Error('the native module did not load');
const native = recoverSignerWith(binding);

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

  /** Ten thousand are compared in `test/facilitator/recovery-thread.e2e-spec.ts`. */
  it('gives the same answer natively and in JavaScript for six hundred signatures', () => {
    expect(compareRecoveries(native, 600)).toBeGreaterThan(60);
  });
});
