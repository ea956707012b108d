import { createHash, generateKeyPairSync, type KeyObject, sign as signWith } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { secp256k1 } from '@noble/curves/secp256k1';
import { publicKeyToAddress } from 'viem/accounts';
import { addressOfSpki, readDerSignature, recoverableSignature } from './ecdsa-der.js';

const ORDER = secp256k1.CURVE.n;

function aKey(namedCurve = 'secp256k1') {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  const point = `0x${spki.subarray(23).toString('hex')}` as const;
  return { privateKey, spki, point };
}

/** SHA-256 of a message, and the signature of OpenSSL over it: as key services give it, any `s`. */
function aSignature(privateKey: KeyObject, text: string) {
  const message = Buffer.from(text);
  const digest = createHash('sha256').update(message).digest();
  return { digest, der: signWith('sha256', message, privateKey) };
}

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const derOf = (r: string, s: string): Buffer => {
  const [first, second] = [bytes(r), bytes(s)];
  const body = [Buffer.of(2, first.length), first, Buffer.of(2, second.length), second];
  const length = body.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.of(0x30, length), ...body]);
};
/** As an integer of DER. */
const integer = (value: bigint): string => {
  const digits = value.toString(16);
  const even = digits.length % 2 === 0 ? digits : `0${digits}`;
  return Number.parseInt(even.slice(0, 2), 16) >= 0x80 ? `00${even}` : even;
};

describe('a signature of a key service', () => {
  it('is of its signer, with the lower s, for many digests', () => {
    const { privateKey, spki } = aKey();
    const address = addressOfSpki(spki) ?? '0x';
    let flipped = 0;
    for (let n = 0; n < 100; n += 1) {
      const { digest, der } = aSignature(privateKey, `message ${n}`);
      const signature = recoverableSignature(der, digest, address);
      if (signature === undefined) throw new Error(`none at ${n}`);
      const s = BigInt(`0x${Buffer.from(signature.s).toString('hex')}`);
      if (s !== readDerSignature(der)?.s) flipped += 1;
      expect(s <= ORDER / 2n).toBe(true);
      expect([signature.r.length, signature.s.length]).toEqual([32, 32]);
      const point = new secp256k1.Signature(
        BigInt(`0x${Buffer.from(signature.r).toString('hex')}`),
        s,
      )
        .addRecoveryBit(signature.yParity)
        .recoverPublicKey(digest);
      expect(Buffer.from(point.toRawBytes(false))).toEqual(spki.subarray(23));
    }
    expect(flipped).toBeGreaterThan(10);
  });

  it('is none of another signer, nor of another digest', () => {
    const { privateKey, spki } = aKey();
    const address = addressOfSpki(spki) ?? '0x';
    const { digest, der } = aSignature(privateKey, 'message');
    expect(recoverableSignature(der, digest, `0x${'11'.repeat(20)}`)).toBeUndefined();
    expect(recoverableSignature(der, Buffer.alloc(32, 1), address)).toBeUndefined();
  });

  it('has two integers from one to below the order', () => {
    expect(readDerSignature(derOf('01', '7f'))).toEqual({ r: 1n, s: 127n });
    const most = ORDER - 1n;
    expect(readDerSignature(derOf(integer(most), integer(most)))).toEqual({ r: most, s: most });
  });

  it.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['one byte', bytes('30')],
    ['no sequence', bytes('31 06 020101 020101')],
    ['a sequence that is shorter than it says', bytes('30 07 020101 020101')],
    ['a sequence that is longer than it says', bytes('30 06 020101 020101 00')],
    ['a length in the long form', bytes('30 81 06 020101 020101')],
    ['one integer', bytes('30 03 020101')],
    ['three integers', bytes('30 09 020101 020101 020101')],
    ['something that is no integer', bytes('30 06 030101 020101')],
    ['an integer without bytes', bytes('30 05 0200 020101')],
    ['an integer that goes beyond the end', bytes('30 06 020101 022101')],
    ['zero as r', derOf('00', '01')],
    ['zero as s', derOf('01', '00')],
    ['a negative r', derOf('80', '01')],
    ['a negative s', derOf('01', 'ff')],
    ['a zero too many', derOf('0001', '01')],
    ['the order as r', derOf(integer(ORDER), '01')],
    ['the order as s', derOf('01', integer(ORDER))],
    ['an integer of 34 bytes', derOf(`00${'ff'.repeat(33)}`, '01')],
    ['megabytes', Buffer.alloc(4_000_000, 0x30)],
  ])('is rejected where it is %s', (_, der) => {
    expect(readDerSignature(der)).toBeUndefined();
  });
});

describe('a public key of a key service', () => {
  it('names its account', () => {
    const { spki, point } = aKey();
    expect(addressOfSpki(spki)).toBe(publicKeyToAddress(point).toLowerCase());
  });

  it('names none on another curve, off its curve, cut or with more behind it', () => {
    const { spki } = aKey();
    expect(addressOfSpki(aKey('prime256v1').spki)).toBeUndefined();
    const off = Buffer.from(spki);
    off[off.length - 1] = (off.at(-1) ?? 0) ^ 1;
    expect(addressOfSpki(off)).toBeUndefined();
    expect(addressOfSpki(spki.subarray(0, -1))).toBeUndefined();
    expect(addressOfSpki(Buffer.concat([spki, Buffer.of(0)]))).toBeUndefined();
    expect(addressOfSpki(Buffer.alloc(0))).toBeUndefined();
  });
});
