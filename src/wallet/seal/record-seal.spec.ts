import { describe, expect, it } from '@jest/globals';
import { Secret } from '../../platform/config/secret.js';
import { RecordSeal } from './record-seal.js';

const sealBy = (current: string, previous?: string) =>
  new RecordSeal({
    sealSecret: {
      current: new Secret(current),
      previous: previous === undefined ? undefined : new Secret(previous),
    },
  });

describe('a sealed record', () => {
  const seal = sealBy('one');
  const sealed = seal.seal('rules:0x1', 'https://seller.example/?key=hidden');

  it('opens under its own context alone', () => {
    expect(seal.open('rules:0x1', sealed)).toBe('https://seller.example/?key=hidden');
    expect(seal.open('rules:0x2', sealed)).toBeUndefined();
  });

  it('does not show what it holds', () => {
    expect(sealed).not.toContain('hidden');
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('hidden');
  });

  it('does not open when a character of it was changed, cut off or made up', () => {
    const [format = '', id = '', body = ''] = sealed.split('.');
    const flipped = `${body.slice(0, 20)}${body[20] === 'A' ? 'B' : 'A'}${body.slice(21)}`;
    const forgeries = [
      `${format}.${id}.${flipped}`,
      sealed.slice(0, -4),
      `${format}.${id}.`,
      `2.${id}.${body}`,
      `${sealed}.x`,
      '{"v":1}',
      '',
    ];
    expect(forgeries.map((one) => seal.open('rules:0x1', one))).toEqual(
      forgeries.map(() => undefined),
    );
  });

  it('opens while its secret is the one before, and is renewed under the new one', () => {
    const rotated = sealBy('two', 'one');
    expect(rotated.open('rules:0x1', sealed)).toBe('https://seller.example/?key=hidden');
    const renewed = rotated.renew('rules:0x1', sealed);
    expect(sealBy('two').open('rules:0x1', renewed)).toBe('https://seller.example/?key=hidden');
    expect(sealBy('two').open('rules:0x1', sealed)).toBeUndefined();
    expect(rotated.renew('rules:0x1', renewed)).toBe(renewed);
  });
});
