import { describe, expect, it } from '@jest/globals';
import { type Hex, keccak256, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { loadSignerRecovery } from '../../src/platform/crypto/recover-signer.js';
import type { RecoveryThread as Thread } from '../../src/platform/crypto/recovery-thread.js';
import { compareRecoveries } from '../builders/platform/crypto/recovery-comparison.js';

/** The thread runs a file, so it is the built one that is tested. */
const BUILT: string = new URL('../../dist/platform/crypto/recovery-thread.js', import.meta.url)
  .pathname;
const { RecoveryThread } = (await import(BUILT)) as { readonly RecoveryThread: typeof Thread };

describe('signers recovered in a thread', () => {
  it('are those recovered here, whatever the signature', async () => {
    const { recoverSigner } = loadSignerRecovery();
    const never = (): never => {
      throw new Error('recovered here');
    };
    let gone = 0;
    const thread = RecoveryThread.start(never, () => {
      gone += 1;
    });
    const account = privateKeyToAccount(keccak256(toHex('thread')));
    const cases: (readonly [Hex, Hex])[] = [];
    for (let index = 0; index < 60; index += 1) {
      const digest = keccak256(toHex(index));
      const signature = await account.sign({ hash: digest });
      const flipped = signature.replace(/^0x./, (start) =>
        start === '0x1' ? '0x2' : '0x1',
      ) as Hex;
      const short = signature.slice(0, 130) as Hex;
      cases.push([digest, signature], [digest, flipped], [digest, short], [digest, '0x']);
    }
    const found = await Promise.all(cases.map((one) => thread.recoverSigner(...one)));
    expect(found).toEqual(cases.map((one) => recoverSigner(...one)));
    expect(found.filter((signer) => signer === account.address.toLowerCase())).toHaveLength(60);
    expect(gone).toBe(0);
  });
});

describe('signers recovered natively', () => {
  it('are those recovered in JavaScript, for ten thousand signatures', () => {
    const { recoverSigner, implementation } = loadSignerRecovery();
    expect(implementation).toBe('native');
    expect(compareRecoveries(recoverSigner, 10_000)).toBeGreaterThan(1000);
  }, 120_000);
});
