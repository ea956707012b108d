import { describe, expect, it } from '@jest/globals';
import { readBeside } from './beside.js';

describe('a facilitator beside ours', () => {
  it('is a command, or an address', () => {
    expect(readBeside('x402-rs=POLL_MS=100 ./target/release/it --a=b')).toEqual({
      name: 'x402-rs',
      command: 'POLL_MS=100 ./target/release/it --a=b',
      url: undefined,
    });
    expect(readBeside('go=http://127.0.0.1:4021')).toEqual({
      name: 'go',
      command: undefined,
      url: 'http://127.0.0.1:4021',
    });
  });

  it.each(['http://127.0.0.1', 'go', 'go=', '=true', 'ours=true', 'reference=true'])(
    'is refused: %s',
    (text) => {
      expect(() => readBeside(text)).toThrow('NAME=COMMAND');
    },
  );
});
