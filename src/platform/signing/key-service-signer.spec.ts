import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { secp256k1 } from '@noble/curves/secp256k1';
import type { Address } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { TestClock, turns } from '../../../test/builders/platform/concurrency/clock.js';
import { type KeyService, KeyServiceError, type SignFailure } from './key-service.js';
import { KeyServiceSigner } from './key-service-signer.js';

const KEY = '11'.repeat(32);
const OTHER_KEY = '22'.repeat(32);
const ADDRESS = privateKeyToAddress(`0x${KEY}`).toLowerCase() as Address;
const SPKI_HEAD = '3056301006072a8648ce3d020106052b8104000a034200';
const TIMEOUT_MS = 2000;
const digestOf = (text: string): Uint8Array => createHash('sha256').update(text).digest();

/** A service that keeps a key and does what a test says. */
class TestKeyService implements KeyService {
  key = KEY;
  asked = 0;
  /** The outcomes of the next questions; without more of them, a signature. */
  readonly next: (SignFailure | 'hangs' | 'of another' | 'no DER')[] = [];
  readonly held: (() => void)[] = [];

  publicKey(): Promise<Uint8Array> {
    const point = secp256k1.getPublicKey(this.key, false);
    return Promise.resolve(Buffer.concat([Buffer.from(SPKI_HEAD, 'hex'), point]));
  }

  async sign(digest: Uint8Array): Promise<Uint8Array> {
    this.asked += 1;
    const what = this.next.shift();
    if (what === 'no DER') return Buffer.from('no DER');
    if (what === 'hangs') await new Promise<void>((resolve) => this.held.push(resolve));
    else if (what !== undefined && what !== 'of another') throw new KeyServiceError(what, 'Code');
    const key = what === 'of another' ? OTHER_KEY : this.key;
    return secp256k1.sign(digest, key, { lowS: false }).toDERRawBytes();
  }
}

describe('a signer whose key a service keeps', () => {
  let clock: TestClock;
  let service: TestKeyService;
  let reported: string[];
  let signer: KeyServiceSigner;

  beforeEach(() => {
    clock = new TestClock();
    service = new TestKeyService();
    reported = [];
    signer = new KeyServiceSigner({
      service,
      address: ADDRESS,
      name: 'aws-kms:alias/lane',
      timeoutMs: TIMEOUT_MS,
      clock,
      observer: {
        signed: () => reported.push('signed'),
        failed: (failure, code) => reported.push(`${failure} ${code}`),
      },
      random: () => 0.5,
    });
  });

  const sign = () => signer.sign(digestOf('a transaction'));
  async function started(): Promise<void> {
    await signer.start();
    service.asked = 0;
  }

  it('signs for its address, whatever half s comes in', async () => {
    await started();
    expect(await sign()).toBeDefined();
    expect(reported).toEqual(['signed']);
  });

  it('does not start with the key of another address, and names both', async () => {
    service.key = OTHER_KEY;
    const other = privateKeyToAddress(`0x${OTHER_KEY}`).toLowerCase();
    await expect(signer.start()).rejects.toThrow(
      `SIGNER_KEYS: aws-kms:alias/lane is the key of ${other}, not of ${ADDRESS}.`,
    );
    expect(signer.isAvailable).toBe(false);
  });

  it('starts without a service that answers, and signs once it does', async () => {
    service.next.push('refused');
    await signer.start();
    expect(signer.isAvailable).toBe(false);
    expect(await sign()).toBeUndefined();
    await clock.pass(500);
    expect(signer.isAvailable).toBe(false);
    await turns();
    expect(signer.isAvailable).toBe(true);
    expect(await sign()).toBeDefined();
  });

  it.each<SignFailure>(['throttled', 'unavailable'])('tries again what is %s', async (failure) => {
    await started();
    service.next.push(failure, failure);
    const signing = sign();
    await turns();
    await clock.pass(50);
    await clock.pass(100);
    expect(await signing).toBeDefined();
    expect([service.asked, reported]).toEqual([3, ['signed']]);
  });

  it('gives up after three tries, and asks no more before it has seen it sign', async () => {
    await started();
    service.next.push('throttled', 'throttled', 'throttled');
    const signing = sign();
    await turns();
    await clock.pass(50);
    await clock.pass(100);
    expect(await signing).toBeUndefined();
    expect(reported).toEqual(['throttled Code']);
    // Asking for its availability starts a check, without waiting for it.
    expect(signer.isAvailable).toBe(false);
    await turns();
    expect(signer.isAvailable).toBe(true);
  });

  it('looks at one that stays away ever more rarely', async () => {
    await started();
    service.next.push(...Array.from({ length: 100 }, (): SignFailure => 'refused'));
    await sign();
    service.asked = 0;
    for (let ms = 0; ms < 60_000; ms += 100) {
      expect(signer.isAvailable).toBe(false);
      await turns();
      await clock.pass(100);
    }
    expect(service.asked).toBeGreaterThan(5);
    expect(service.asked).toBeLessThan(15);
  });

  it('does not ask again what was refused', async () => {
    await started();
    service.next.push('refused');
    expect(await sign()).toBeUndefined();
    expect([service.asked, reported]).toEqual([1, ['refused Code']]);
  });

  it('throws away what comes late', async () => {
    await started();
    service.next.push('hangs', 'hangs');
    let answer: unknown = 'none yet';
    const signing = sign().then((signature) => (answer = signature));
    await clock.pass(TIMEOUT_MS / 2);
    await clock.pass(50);
    for (const release of service.held) release();
    service.held.length = 0;
    await clock.pass(TIMEOUT_MS);
    await signing;
    expect(answer).toBeDefined();
    expect(reported).toEqual(['signed']);
  });

  it('has an end when nothing ever answers', async () => {
    await started();
    service.next.push('hangs', 'hangs', 'hangs', 'hangs');
    const signing = sign();
    await clock.pass(TIMEOUT_MS / 2);
    await clock.pass(50);
    await clock.pass(TIMEOUT_MS / 2);
    expect(await signing).toBeUndefined();
    expect(reported).toEqual(['unavailable no_answer_in_time']);
  });

  it.each(['of another', 'no DER'] as const)('uses no answer that is %s', async (what) => {
    await started();
    service.next.push(what, what, what);
    const signing = sign();
    await turns();
    await clock.pass(50);
    await clock.pass(100);
    expect(await signing).toBeUndefined();
    expect(reported).toEqual(['bad_answer not_its_signature']);
  });
});
