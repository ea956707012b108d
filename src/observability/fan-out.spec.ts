import { describe, expect, it } from '@jest/globals';
import { fanOut } from './fan-out.js';

interface Bell {
  rang(tone: string, times: number): void;
  broke(): void;
}

describe('fanOut', () => {
  it('tells each observer everything, in order', () => {
    const heard: string[] = [];
    const listener = (name: string): Bell => ({
      rang: (tone, times) => heard.push(`${name} ${tone} ${times}`),
      broke: () => heard.push(`${name} broke`),
    });
    const bell = fanOut(listener('first'), listener('second'));
    bell.rang('c', 2);
    bell.broke();
    expect(heard).toEqual(['first c 2', 'second c 2', 'first broke', 'second broke']);
  });
});
