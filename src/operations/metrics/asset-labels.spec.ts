import { describe, expect, it } from '@jest/globals';
import { AssetLabels } from './asset-labels.js';

const address = (n: number): `0x${string}` => `0x${n.toString(16).padStart(40, '0')}`;

describe('AssetLabels', () => {
  it('names what is known, of this chain', () => {
    const labels = new AssetLabels([`eip155:56/${address(1)}`]);
    expect(labels.labelOf(56, address(1))).toBe(address(1));
    expect(labels.labelOf(97, address(1))).toBe('other');
    expect(labels.labelOf(56, address(2))).toBe('other');
    expect(labels.labelOf(undefined, address(1))).toBe('other');
    expect(labels.labelOf(56, undefined)).toBe('other');
  });

  it('makes no more than 33 values of however many assets', () => {
    const names = Array.from({ length: 100 }, (_, n) => `eip155:56/${address(n)}`);
    const labels = new AssetLabels(names);
    const values = Array.from({ length: 100 }, (_, n) => labels.labelOf(56, address(n)));
    expect(new Set(values).size).toBe(33);
    expect(values.slice(0, 32)).not.toContain('other');
  });
});
