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
    const bell = fanOut([listener('first'), listener('second')], () => heard.push('failed'));
    bell.rang('c', 2);
    bell.broke();
    expect(heard).toEqual(['first c 2', 'second c 2', 'first broke', 'second broke']);
  });

  it('tells an instance of a class, of which the methods are', () => {
    const heard: string[] = [];
    class Chime implements Bell {
      constructor(private readonly name: string) {}

      rang(tone: string): void {
        heard.push(`${this.name} ${tone}`);
      }

      broke(): void {
        heard.push(`${this.name} broke`);
      }
    }
    const bell = fanOut<Bell>([new Chime('first'), new Chime('second')], () => undefined);
    bell.rang('c', 1);
    bell.broke();
    expect(heard).toEqual(['first c', 'second c', 'first broke', 'second broke']);
  });

  it('an observer that throws neither silences the others nor reaches who tells', () => {
    const heard: string[] = [];
    const bad: Bell = {
      rang: () => {
        throw new RangeError('deaf');
      },
      broke: () => heard.push('bad broke'),
    };
    const good: Bell = { rang: (tone) => heard.push(tone), broke: () => heard.push('good broke') };
    const failures: unknown[] = [];
    const bell = fanOut([bad, good], (method, error) => failures.push([method, String(error)]));
    bell.rang('c', 1);
    bell.broke();
    expect(heard).toEqual(['c', 'bad broke', 'good broke']);
    expect(failures).toEqual([['rang', 'RangeError: deaf']]);
  });
});
