import { describe, expect, it } from '@jest/globals';
import {
  isSimulatedId,
  mayBeSimulatedOn,
  SIMULATED_OUTCOMES,
  simulatedHashOf,
  simulatedIdOf,
  simulatedIdOfHash,
} from './outcomes.js';

describe('names of simulated settlements', () => {
  const id = simulatedIdOf('shop', 'authorization', 'pending');

  it('have the form of real ones, and say what they are', () => {
    expect(id).toMatch(/^[\w-]{43}$/);
    expect(isSimulatedId(id)).toBe(true);
    expect(simulatedHashOf(id)).toMatch(/^0x73696d756c61746564[0-9a-f]{46}$/);
  });

  it('lead to each other, in any letter case', () => {
    expect(simulatedIdOfHash(simulatedHashOf(id))).toBe(id);
    expect(simulatedIdOfHash(simulatedHashOf(id).toUpperCase().replace('0X', '0x'))).toBe(id);
  });

  it('are no names of real ones', () => {
    expect(simulatedIdOfHash(`0x${'5f'.repeat(32)}`)).toBeUndefined();
    expect(isSimulatedId('a'.repeat(43))).toBe(false);
  });

  it('differ by API key, payment and outcome', () => {
    const ids = [
      ...SIMULATED_OUTCOMES.map((outcome) => simulatedIdOf('shop', 'authorization', outcome)),
      simulatedIdOf('other', 'authorization', 'pending'),
      simulatedIdOf('shop', 'another', 'pending'),
    ];
    expect(new Set(ids).size).toBe(SIMULATED_OUTCOMES.length + 2);
  });
});

describe('where a settle may be simulated', () => {
  it.each([97, 31_337, 84_532])('is test network %i', (chainId) => {
    expect(mayBeSimulatedOn(chainId)).toBe(true);
  });

  it.each([56, 1, 8453, 137, 204, 999_999])('is not %i', (chainId) => {
    expect(mayBeSimulatedOn(chainId)).toBe(false);
  });
});
