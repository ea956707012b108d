import { describe, expect, it } from '@jest/globals';
import { TickCoalescer } from './tick-coalescer.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('TurnEnd', () => {
  it('does once what was asked for several times in one turn, after what is under way', async () => {
    const done: string[] = [];
    const end = new TickCoalescer(() => done.push('act'));
    end.schedule();
    await Promise.resolve();
    end.schedule();
    done.push('asked');
    await turn();
    expect(done).toEqual(['asked', 'act']);
  });

  it('does it again in a later turn, also when asked from within', async () => {
    let count = 0;
    const end: TickCoalescer = new TickCoalescer(() => {
      count += 1;
      if (count === 1) end.schedule();
    });
    end.schedule();
    await turn();
    expect(count).toBe(1);
    await turn();
    expect(count).toBe(2);
    await turn();
    expect(count).toBe(2);
  });
});
