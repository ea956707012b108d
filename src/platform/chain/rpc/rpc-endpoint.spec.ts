import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  growthWhile,
  startBombServer,
} from '../../../../test/builders/platform/fetch/gzip-bomb.js';
import { delay } from '../../concurrency/timing.js';
import { Secret } from '../../config/secret.js';
import { RpcEndpoint } from './rpc-endpoint.js';
import type { RpcOutcome } from './rpc-outcome.js';

const HANGING: ReadonlySet<string> = new Set(['eth_sendRawTransaction', 'eth_hang']);

describe('RpcEndpoint', () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.close();
  });

  /** Answers every call with its own method, but requests with one that hangs; the chain is 56. */
  function start(arrived: string[] = []): Promise<string> {
    const answer = ({ id, method }: { id: number; method: string }): object => ({
      jsonrpc: '2.0',
      id,
      result: method === 'eth_chainId' ? '0x38' : method,
    });
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (part: Buffer) => (text += part.toString()));
      request.on('end', () => {
        const calls = JSON.parse(text) as { id: number; method: string }[];
        arrived.push(...calls.map(({ method }) => method));
        if (calls.some(({ method }) => HANGING.has(method))) return;
        response.end(JSON.stringify(calls.map(answer)));
      });
    });
    return new Promise((resolve) => {
      server?.listen(0, '127.0.0.1', () => {
        const address = server?.address();
        resolve(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`);
      });
    });
  }

  it('goes on when an observer throws, any number of times', async () => {
    const observer = {
      exchanged: (): void => {
        throw new RangeError('nobody is looking');
      },
      disagreed: () => undefined,
    };
    const url = new Secret(await start());
    const endpoint = new RpcEndpoint('56-0', 56, url, () => undefined, observer);
    for (let exchanges = 0; exchanges < 8; exchanges += 1) {
      const answer = await endpoint.request('eth_blockNumber', [], 2000);
      expect(answer).toEqual({ kind: 'result', value: 'eth_blockNumber' });
    }
    await endpoint.close();
  });

  it('takes an answer that would become very large for what it is: none', async () => {
    const bombs = await startBombServer(200);
    const endpoint = new RpcEndpoint('56-0', 56, new Secret(bombs.url), () => undefined);
    const growth = await growthWhile(async () => {
      const answer = await endpoint.request('eth_blockNumber', [], 20_000);
      expect(answer).toEqual({ kind: 'silent', cause: 'malformed' });
    });
    await endpoint.close();
    bombs.close();
    expect(growth).toBeLessThan(200 * 1024 * 1024);
  });

  describe('beside requests that have no answer', () => {
    const waited = async (asking: Promise<RpcOutcome>): Promise<[RpcOutcome, number]> => {
      const startedAt = performance.now();
      return [await asking, performance.now() - startedAt];
    };
    let endpoint: RpcEndpoint;
    let arrived: string[];
    beforeEach(async () => {
      arrived = [];
      endpoint = new RpcEndpoint('56-0', 56, new Secret(await start(arrived)), () => undefined);
    });
    afterEach(async () => {
      server?.closeAllConnections();
      await endpoint.close();
    });

    it('calls are answered while transactions are not taken', async () => {
      for (let sent = 0; sent < 12; sent += 1) {
        void endpoint.request('eth_sendRawTransaction', ['0x01'], 5000);
        await delay(2);
      }
      const [answer, ms] = await waited(endpoint.request('eth_blockNumber', [], 400));
      expect(answer).toEqual({ kind: 'result', value: 'eth_blockNumber' });
      expect(ms).toBeLessThan(400);
    });

    it('a call waits no longer than its own time, whatever it travels with', async () => {
      void endpoint.request('eth_hang', [], 5000);
      const [answer, ms] = await waited(endpoint.request('eth_blockNumber', [], 200));
      expect(answer).toEqual({ kind: 'silent', cause: 'timeout' });
      expect(ms).toBeLessThan(2000);
    });

    it('a call that finds no turn in its time is given up unsent', async () => {
      for (let sent = 0; sent < 4; sent += 1) {
        void endpoint.request('eth_hang', [], 900);
        await delay(2);
      }
      const [answer, ms] = await waited(endpoint.request('eth_blockNumber', [], 200));
      expect(answer).toEqual({ kind: 'silent', cause: 'timeout' });
      expect(ms).toBeLessThan(800);
      await delay(900);
      expect(arrived).not.toContain('eth_blockNumber');
    });

    it('the call with the least time left is sent first', async () => {
      for (let sent = 0; sent < 4; sent += 1) {
        void endpoint.request('eth_hang', [], 300);
        await delay(2);
      }
      const all = Array.from({ length: 120 }, () => endpoint.request('eth_call', [], 2000));
      const urgent = endpoint.request('eth_blockNumber', [], 1500);
      await Promise.all([...all, urgent]);
      expect(arrived.indexOf('eth_blockNumber')).toBeLessThan(arrived.lastIndexOf('eth_call') - 50);
    });
  });

  describe('calls of code that is kept apart', () => {
    /** A node that never answers a request with a call for `0xdead` in it; it notes what came together. */
    function startBesideSilence(arrived: string[][]): Promise<string> {
      server = createServer((request, response) => {
        let text = '';
        request.on('data', (part: Buffer) => (text += part.toString()));
        request.on('end', () => {
          const asked = JSON.parse(text) as { id: number; method: string; params: string[] }[];
          const calls = asked.filter(({ method }) => method === 'eth_call');
          arrived.push(calls.map(({ params }) => String(params[0])));
          if (calls.some(({ params }) => params[0] === '0xdead')) return;
          const answers = asked.map(({ id, method }) => ({
            jsonrpc: '2.0',
            id,
            result: method === 'eth_chainId' ? '0x38' : '0x01',
          }));
          response.end(JSON.stringify(answers));
        });
      });
      return new Promise((resolve) => {
        server?.listen(0, '127.0.0.1', () => {
          const address = server?.address();
          resolve(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`);
        });
      });
    }

    it('are not silent because the code beside them is: each is asked alone before it is judged', async () => {
      const arrived: string[][] = [];
      const url = new Secret(await startBesideSilence(arrived));
      const endpoint = new RpcEndpoint('56-0', 56, url, () => undefined);
      const ask = (to: string): Promise<RpcOutcome> =>
        endpoint.request('eth_call', [to], 300, { kind: 'new', subject: to, gas: 1n });
      const [silent, good] = await Promise.all([ask('0xdead'), ask('0xbeef')]);
      expect(arrived[0]).toEqual(['0xdead', '0xbeef']);
      expect(good).toEqual({ kind: 'result', value: '0x01' });
      expect(silent).toEqual({ kind: 'silent', cause: 'timeout' });
      server?.closeAllConnections();
      await endpoint.close();
    });
  });
});
