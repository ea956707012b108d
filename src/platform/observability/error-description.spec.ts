import { describe, expect, it } from '@jest/globals';
import { describeError } from './error-description.js';

describe('an error in the log', () => {
  it('has nothing but its fixed fields', () => {
    const error = Object.assign(new Error('WRONGTYPE Operation against a key'), {
      code: 'ERR',
      command: { name: 'evalsha', args: ['a live authorization'] },
      request: { url: 'https://node.example/a-key' },
    });
    const { stack, ...fields } = describeError(error);
    expect(fields).toEqual({
      type: 'Error',
      code: 'ERR',
      command: 'evalsha',
      message: error.message,
    });
    expect(stack).toContain('error-description.spec');
  });

  it('has no URL and no long bytes in its texts, but the places of our code', () => {
    const signature = `0x${'ab'.repeat(65)}`;
    const error = new Error(`URL: https://user:pass@node.example/v1/key body: ["${signature}"]`);
    const { message, stack } = describeError(error);
    expect(message).toBe('URL: [url] body: ["[bytes]"]');
    expect(stack).not.toMatch(/node\.example|abab/);
    const placed = Object.assign(new Error('odd'), { stack: 'at f (file:///app/dist/x.js:1:2)' });
    expect(describeError(placed).stack).toBe('at f (file:///app/dist/x.js:1:2)');
  });

  it('has no arguments that Redis repeats', () => {
    const error = new Error("ERR unknown command 'X', with args beginning with: 'a secret' ");
    expect(JSON.stringify(describeError(error))).not.toContain('a secret');
    expect(describeError(error).message).toBe("ERR unknown command 'X'");
  });

  it('names its causes, also where they go round in circles', () => {
    const inner = new TypeError('inner');
    const outer = new Error('outer', { cause: inner });
    inner.cause = outer;
    expect(describeError(outer).cause).toMatchObject({
      type: 'TypeError',
      message: 'inner',
      cause: { message: 'outer' },
    });
  });

  it('may be no error at all', () => {
    expect(describeError('a secret thrown as text')).toEqual({ type: 'string' });
  });
});
