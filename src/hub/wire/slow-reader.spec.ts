import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Response } from 'express';
import { limitSilence } from './slow-reader.js';

const MIB = 1_048_576;

class FakeSocket extends EventEmitter {
  bytesWritten = 10 * MIB;
  writableLength = MIB;
  isDestroyed = false;

  destroy(): void {
    this.isDestroyed = true;
    this.emit('close');
  }
}

describe('a client that an answer waits for', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  function answering(): { readonly socket: FakeSocket; readonly isOut: () => void } {
    const socket = new FakeSocket();
    const isOut = limitSilence({ req: { socket } } as unknown as Response);
    return { socket, isOut };
  }

  it('has gone silent when it reads nothing, whatever it sends', () => {
    const { socket } = answering();
    for (let second = 0; second < 29; second += 1) {
      jest.advanceTimersByTime(1000);
      // A short request: what comes in is no reading.
      socket.emit('data', Buffer.from('GET / HTTP/1.1'));
    }
    expect(socket.isDestroyed).toBe(false);
    jest.advanceTimersByTime(1000);
    expect(socket.isDestroyed).toBe(true);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('has gone silent when it reads a byte now and then', () => {
    const { socket } = answering();
    for (let second = 0; second < 30; second += 1) {
      socket.writableLength -= 1;
      jest.advanceTimersByTime(1000);
    }
    expect(socket.isDestroyed).toBe(true);
  });

  it('may be slow, and is not to blame where nothing waits for it', () => {
    const { socket, isOut } = answering();
    for (let step = 0; step < 20; step += 1) {
      socket.bytesWritten += 200_000;
      jest.advanceTimersByTime(30_000);
    }
    socket.writableLength = 0;
    jest.advanceTimersByTime(600_000);
    expect(socket.isDestroyed).toBe(false);
    isOut();
    expect([jest.getTimerCount(), socket.listenerCount('close')]).toEqual([0, 0]);
  });
});
