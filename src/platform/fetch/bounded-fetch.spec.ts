import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type BombServer,
  growthWhile,
  gzipBomb,
  startBombServer,
} from '../../../test/builders/platform/fetch/gzip-bomb.js';
import { boundedFetch } from './bounded-fetch.js';

const MIB = 1024 * 1024;

describe('an answer of few bytes that become very many', () => {
  let server: BombServer;
  beforeAll(async () => {
    server = await startBombServer(200);
  });
  afterAll(() => {
    server.close();
  });

  it('is what it says', () => {
    const bomb = gzipBomb();
    expect(bomb.length).toBeGreaterThan(10_000_000);
    // A hundredth of it is a hundred megabytes already.
    const part = bomb.subarray(0, (bomb.length / 1024) * 10);
    expect(gunzipSync(part)).toHaveLength(100 * MIB);
  });

  it('is given up when it has become more than an answer is', async () => {
    const growth = await growthWhile(async () => {
      await expect(boundedFetch(20_000)(server.url)).rejects.toThrow('the answer is too large');
    });
    expect(growth).toBeLessThan(100 * MIB);
  });
});
