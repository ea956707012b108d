import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { StartError } from '../../protocol/errors.js';
import { StorageUnavailableError } from '../errors.js';
import { StorageOpening } from './storage-opening.js';
import type { StorageObserver, StorageProvider } from './storage-provider.js';

const OBSERVER = {} as StorageObserver;
const away = (): Promise<void> => Promise.reject(new StorageUnavailableError('put'));
const present = (): Promise<void> => Promise.resolve();
const silent = (): Promise<void> => new Promise(() => undefined);

/** A storage whose tries to start end one after the other like this; the last way is repeated. */
function opening(...tries: (() => Promise<void>)[]) {
  let count = 0;
  const logged: string[] = [];
  const start = (): Promise<void> => {
    count += 1;
    return (tries[Math.min(count, tries.length) - 1] ?? present)();
  };
  const opened = new StorageOpening({ start } as unknown as StorageProvider, {
    error: (facts: unknown) => {
      const { err } = facts as { readonly err: unknown };
      logged.push(err instanceof Error ? err.name : 'no answer');
    },
    info: () => logged.push('open'),
  });
  return { opened, logged, count: () => count };
}

describe('the opening of a storage', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is done with the first try where the storage is there', async () => {
    const { opened, logged } = opening(present);
    expect(opened.isOpen).toBe(false);
    await opened.begin(OBSERVER);
    expect([opened.isOpen, logged]).toEqual([true, []]);
  });

  it('does not wait for a storage that is away, and logs it once', async () => {
    const { opened, logged } = opening(away, away, away, present);
    await opened.begin(OBSERVER);
    expect(opened.isOpen).toBe(false);
    await jest.advanceTimersByTimeAsync(2500);
    expect([opened.isOpen, logged]).toEqual([false, ['StorageUnavailableError']]);
    await jest.advanceTimersByTimeAsync(1000);
    expect([opened.isOpen, logged]).toEqual([true, ['StorageUnavailableError', 'open']]);
  });

  it('waits five seconds for one that does not answer', async () => {
    const { opened, logged } = opening(silent);
    let isBegun = false;
    void opened.begin(OBSERVER).then(() => {
      isBegun = true;
    });
    await jest.advanceTimersByTimeAsync(4900);
    expect(isBegun).toBe(false);
    await jest.advanceTimersByTimeAsync(200);
    expect([isBegun, opened.isOpen, logged]).toEqual([true, false, ['no answer']]);
  });

  it('throws what cannot end by itself, and does not try again', async () => {
    const { opened, count } = opening(() => Promise.reject(new StartError('HUB_S3_BUCKET: no')));
    await expect(opened.begin(OBSERVER)).rejects.toThrow('HUB_S3_BUCKET: no');
    await jest.advanceTimersByTimeAsync(10_000);
    expect(count()).toBe(1);
  });

  it('goes on when that shows only later: the process is at work by then', async () => {
    const refused = (): Promise<void> => Promise.reject(new StartError('HUB_S3_BUCKET: no'));
    const { opened, logged } = opening(away, refused, refused, present);
    await opened.begin(OBSERVER);
    await jest.advanceTimersByTimeAsync(3500);
    expect(logged).toEqual(['StorageUnavailableError', 'StartError', 'open']);
  });

  it('ends with the process', async () => {
    const { opened, count } = opening(away);
    await opened.begin(OBSERVER);
    opened.stop();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(count()).toBeLessThanOrEqual(2);
  });
});
