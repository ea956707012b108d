import { describe, expect, it } from '@jest/globals';
import { handleUnhandled } from './last-resort.js';

class FakeSource {
  readonly listeners = new Map<string, (fault: unknown) => void>();

  on(event: string, listener: (fault: unknown) => void): void {
    this.listeners.set(event, listener);
  }
}

describe('an unhandled error', () => {
  const error = Object.assign(new Error('Command timed out'), {
    command: { name: 'set', args: ['a live authorization'] },
  });

  it.each(['unhandledRejection', 'uncaughtException'])(
    'is logged without its arguments, a few times, and drains: %s',
    (event) => {
      const source = new FakeSource();
      const lines: string[] = [];
      let drains = 0;
      const shutdown = { shutDownAfterFault: () => (drains += 1) };
      handleUnhandled(source, shutdown, (line) => lines.push(line));
      for (let count = 0; count < 100; count += 1) source.listeners.get(event)?.(error);
      expect(lines).toHaveLength(20);
      expect(lines.join()).not.toContain('live');
      expect(JSON.parse(lines[0] ?? '')).toMatchObject({
        level: 60,
        err: { message: 'Command timed out', command: 'set' },
      });
      expect(drains).toBe(100);
    },
  );

  it('may be anything', () => {
    const source = new FakeSource();
    const lines: string[] = [];
    handleUnhandled(source, { shutDownAfterFault: () => undefined }, (line) => lines.push(line));
    for (const fault of [undefined, null, 'a secret', { key: 'a secret' }]) {
      source.listeners.get('unhandledRejection')?.(fault);
    }
    expect(lines).toHaveLength(4);
    expect(lines.join()).not.toContain('secret');
  });
});
