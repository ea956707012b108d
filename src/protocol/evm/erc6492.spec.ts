import { describe, expect, it } from '@jest/globals';
import { type Address, encodeAbiParameters, type Hex, serializeErc6492Signature } from 'viem';
import { innerSignatureOf, unwrapErc6492 } from './erc6492.js';

const MAGIC = '6492'.repeat(16);
const INNER: Hex = `0x${'ab'.repeat(65)}`;
const FACTORY: Address = `0x${'4f'.repeat(20)}`;
const DATA: Hex = '0x1234';

const wrap = (address: Address, data: Hex = DATA, signature: Hex = INNER): Hex =>
  serializeErc6492Signature({ address, data, signature });
const word = (value: number): string => value.toString(16).padStart(64, '0');
const bodyOf = (...words: string[]): Hex => `0x${words.join('')}${MAGIC}`;

describe('a signature wrapped as ERC-6492 has it', () => {
  it.each<[string, Hex, Hex]>([
    ['of 65 bytes', DATA, INNER],
    ['of a passkey', `0x${'77'.repeat(900)}`, `0x${'99'.repeat(700)}`],
    ['without calldata', '0x', INNER],
    ['of no bytes', DATA, '0x'],
    // The mark is one only at the end.
    ['with the mark in the middle of the signature', DATA, `0x${MAGIC}ab`],
    ['with the mark at the end of the calldata', `0x${MAGIC}`, INNER],
  ])('is unwrapped: %s', (_, data, inner) => {
    expect(unwrapErc6492(wrap(FACTORY, data, inner))).toEqual({
      deployment: { factory: FACTORY, data },
      inner,
    });
  });

  it.each<[string, Hex]>([
    ['another signature', INNER],
    ['no signature', '0x'],
    ['one of the zero factory', wrap(`0x${'0'.repeat(40)}`)],
  ])('is not %s', (_, signature) => {
    expect(unwrapErc6492(signature)).toBeUndefined();
    expect(innerSignatureOf(signature)).toBe(signature);
  });

  it.each<[string, Hex]>([
    ['the mark alone', `0x${MAGIC}`],
    ['two words', bodyOf(word(1), word(96))],
    ['offsets that lead nowhere', bodyOf('ff'.repeat(96))],
    ['an offset beyond the end', bodyOf(word(1), word(96), word(4096), word(0))],
    ['a length beyond the end', bodyOf(word(1), word(96), word(128), word(0), word(1))],
    ['a length without an end', bodyOf(word(1), word(96), word(128), word(0), 'ff'.repeat(32))],
    ['half of its content', `0x${wrap(FACTORY).slice(2, 300)}${MAGIC}`],
    ['a broken one of the zero factory', bodyOf(word(0), word(96), word(4096), word(0))],
  ])('is malformed where it has %s', (_, signature) => {
    expect(unwrapErc6492(signature)).toBe('malformed');
    expect(innerSignatureOf(signature)).toBe(signature);
  });

  it.each<[string, Hex]>([
    ['once', wrap(FACTORY, DATA, wrap(FACTORY))],
    ['with a mark alone', wrap(FACTORY, DATA, `0x${MAGIC}`)],
    ['many times', [1, 2, 3, 4].reduce<Hex>((inner) => wrap(FACTORY, DATA, inner), INNER)],
  ])('is nested where a wrapper is in it: %s', (_, signature) => {
    expect(unwrapErc6492(signature)).toBe('nested');
  });

  it('has the same signature in it, whatever it is wrapped in', () => {
    const other = wrap(`0x${'5a'.repeat(20)}`, `0x${'01'.repeat(100)}`);
    expect([wrap(FACTORY), other, INNER].map(innerSignatureOf)).toEqual([INNER, INNER, INNER]);
  });

  it('is read as the encoders of others read it, also where its parts lie in another order', () => {
    const words = [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }] as const;
    const usual = encodeAbiParameters(words, [FACTORY, DATA, INNER]);
    expect(unwrapErc6492(`${usual}${MAGIC}`)).toEqual(unwrapErc6492(wrap(FACTORY)));
    const [data, inner] = [word(2) + '1234'.padEnd(64, '0'), word(1) + 'ab'.padEnd(64, '0')];
    const turned = bodyOf(FACTORY.slice(2).padStart(64, '0'), word(160), word(96), inner, data);
    expect(unwrapErc6492(turned)).toEqual({
      deployment: { factory: FACTORY, data: DATA },
      inner: '0xab',
    });
  });
});
