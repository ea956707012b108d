import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  growthWhile,
  startBombServer,
} from '../../../../test/builders/platform/fetch/gzip-bomb.js';
import { Secret } from '../../config/secret.js';
import { RpcEndpoint } from './rpc-endpoint.js';
import type { RpcOutcome } from './rpc-outcome.js';

describe('RpcEndpoint', () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.close();
  });

  /**
   * Answers every call with its own method; the chain is 56.
   *
   * @param isAnswered - whether a request with these methods gets an answer at all.
   * @param error - the answer to all calls but `eth_chainId`.
   * @param takesBatches - whether a batch is answered with more than one error.
   */
  function start(
    isAnswered: (methods: readonly string[]) => boolean = () => true,
    error?: object,
    takesBatches = true,
  ): Promise<string> {
    const answer = ({ id, method }: { id: number; method: string }): object => {
      if (method === 'eth_chainId') return { jsonrpc: '2.0', id, result: '0x38' };
      return error ? { jsonrpc: '2.0', id, error } : { jsonrpc: '2.0', id, result: method };
    };
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (part: Buffer) => (text += part.toString()));
      request.on('end', () => {
        type Call = Parameters<typeof answer>[0];
        const asked = JSON.parse(text) as Call | Call[];
        const calls = Array.isArray(asked) ? asked : [asked];
        if (!takesBatches && calls.length > 1) {
          response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_600 } }));
          return;
        }
        if (!isAnswered(calls.map(({ method }) => method))) return;
        const answers = calls.map(answer);
        response.end(JSON.stringify(Array.isArray(asked) ? answers : answers[0]));
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
        throw new RangeError('no one is looking');
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

  it.each([
    ['user:p%40ss@', 'user:p@ss'],
    [':key@', ':key'],
    ['user@', 'user:'],
  ])('sends the credentials of its URL: %s', async (inUrl, credentials) => {
    const url = (await start()).replace('http://', `http://${inUrl}`);
    if (server === undefined) throw new Error('not started');
    const sent = once(server, 'request');
    const endpoint = new RpcEndpoint('56-0', 56, new Secret(url), () => undefined);
    await endpoint.request('eth_blockNumber', [], 2000);
    const [{ headers }] = (await sent) as [IncomingMessage];
    await endpoint.close();
    expect(headers.authorization).toBe(`Basic ${Buffer.from(credentials).toString('base64')}`);
  });

  it("keeps the first 1000 characters of a node's words, which patterns are tried on", async () => {
    const message = 'tip cap'.repeat(1000);
    const url = await start(() => true, { code: -32_000, message });
    const endpoint = new RpcEndpoint('56-0', 56, new Secret(url), () => undefined);
    const answer = await endpoint.request('eth_sendRawTransaction', ['0x02'], 2000);
    await endpoint.close();
    expect(answer).toMatchObject({ kind: 'error', error: { message: message.slice(0, 1000) } });
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

  it('answers other calls while the node holds every transaction that it is sent', async () => {
    let held = 0;
    const url = new Secret(
      await start((methods) => {
        const isHeld = methods.includes('eth_sendRawTransaction');
        if (isHeld) held += methods.length - 1;
        return !isHeld;
      }),
    );
    const endpoint = new RpcEndpoint('56-0', 56, url, () => undefined);
    const sends: Promise<RpcOutcome>[] = [];
    for (let round = 0; round < 8; round += 1) {
      sends.push(endpoint.request('eth_sendRawTransaction', ['0x'], 60_000));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const answer = await endpoint.request('eth_blockNumber', [], 60_000);
    expect(answer).toEqual({ kind: 'result', value: 'eth_blockNumber' });
    expect(held).toBeGreaterThan(0);
    await endpoint.close();
    expect(await Promise.all(sends)).toEqual(
      sends.map(() => ({ kind: 'silent', cause: 'connection' })),
    );
  }, 20_000);

  it.each<[string, number, boolean]>([
    ['a hundred wait', 108, true],
    ['ten wait', 14, true],
    ['none waits at a node without batches', 24, false],
  ])(
    'follows blocks while the node holds every call, and %s',
    async (_, count, takesBatches) => {
      const asked: (readonly string[])[] = [];
      const isAnswered = (methods: readonly string[]): boolean => {
        asked.push(methods);
        return !methods.includes('eth_call');
      };
      const url = new Secret(await start(isAnswered, undefined, takesBatches));
      const endpoint = new RpcEndpoint('56-0', 56, url, () => undefined);
      await endpoint.request('eth_blockNumber', [], 60_000);
      const calls: Promise<RpcOutcome>[] = [];
      for (let round = 0; round < count; round += 1) {
        calls.push(endpoint.request('eth_call', [{}], 60_000));
        if (round < 4) await new Promise((resolve) => setImmediate(resolve));
      }
      await new Promise((resolve) => setImmediate(resolve));
      const ask = (method: string): Promise<RpcOutcome> => endpoint.request(method, [], 60_000);
      for (const method of ['eth_getTransactionReceipt', 'eth_blockNumber']) {
        expect(await ask(method)).toEqual({ kind: 'result', value: method });
      }
      const evidence = ['eth_getTransactionReceipt', 'eth_getTransactionByHash'];
      await Promise.all(evidence.map(ask));
      if (takesBatches) expect(asked.at(-1)).toEqual([...evidence, 'eth_chainId']);
      await endpoint.close();
      for (const outcome of await Promise.all(calls)) {
        expect(outcome).toEqual({ kind: 'silent', cause: 'connection' });
      }
      server?.closeAllConnections();
    },
    10_000,
  );

  it('shares a request among all calls of a turn while few wait', async () => {
    const asked: (readonly string[])[] = [];
    const url = new Secret(
      await start((methods) => {
        asked.push(methods);
        return true;
      }),
    );
    const endpoint = new RpcEndpoint('56-0', 56, url, () => undefined);
    await Promise.all([
      endpoint.request('eth_call', [{}], 2000),
      endpoint.request('eth_blockNumber', [], 2000),
    ]);
    expect(asked).toEqual([['eth_blockNumber', 'eth_call', 'eth_chainId']]);
    await endpoint.close();
  });

  it('sends no request that is longer than nodes take, however long its calls are', async () => {
    const lengths: number[] = [];
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (part: Buffer) => (text += part.toString()));
      request.on('end', () => {
        lengths.push(text.length);
        if (text.length > 1_000_000) {
          response.writeHead(413).end('request entity too large');
          return;
        }
        const calls = JSON.parse(text) as { id: number; method: string }[];
        const answers = calls.map(({ id, method }) => ({
          jsonrpc: '2.0',
          id,
          result: method === 'eth_chainId' ? '0x38' : method,
        }));
        response.end(JSON.stringify(answers));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const url = new Secret(`http://127.0.0.1:${port}`);
    const endpoint = new RpcEndpoint('56-0', 56, url, () => undefined);
    // The longest transactions that nodes keep, as a lane simulates them beside others.
    const data = `0x${'00'.repeat(130_000)}`;
    const methods = Array.from({ length: 12 }, () => ['eth_call', 'eth_blockNumber']).flat();
    const answers = await Promise.all(
      methods.map((method) =>
        endpoint.request(method, method === 'eth_call' ? [{ data }] : [], 20_000),
      ),
    );
    expect(answers).toEqual(methods.map((value) => ({ kind: 'result', value })));
    expect(lengths.length).toBeLessThan(methods.length);
    await endpoint.close();
  }, 20_000);

  it('lets so many calls wait, and no more', async () => {
    const url = new Secret(await start((methods) => !methods.includes('eth_call')));
    const endpoint = new RpcEndpoint('56-0', 56, url, () => undefined);
    const calls = Array.from({ length: 4500 }, () => endpoint.request('eth_call', [{}], 60_000));
    const first = await Promise.race(calls);
    expect(first).toEqual({ kind: 'silent', cause: 'not_sent' });
    await endpoint.close();
    const all = await Promise.all(calls);
    const notSent = all.filter((one) => one.kind === 'silent' && one.cause === 'not_sent');
    expect(notSent).toHaveLength(500);
    server?.closeAllConnections();
  });

  it('sends no transaction that has waited longer than its sender does', async () => {
    const url = new Secret(await start((methods) => !methods.includes('eth_sendRawTransaction')));
    const endpoint = new RpcEndpoint('56-0', 56, url, () => undefined);
    const sends: Promise<RpcOutcome>[] = [];
    for (let round = 0; round < 4; round += 1) {
      // The first two are sent, and hold their places long after the others' time is up.
      sends.push(endpoint.request('eth_sendRawTransaction', ['0x'], round < 2 ? 3000 : 50));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const causes = (await Promise.all(sends)).map((outcome) =>
      outcome.kind === 'silent' ? outcome.cause : outcome.kind,
    );
    expect(causes).toEqual(['timeout', 'timeout', 'not_sent', 'not_sent']);
    server?.closeAllConnections();
    await endpoint.close();
  });

  it('lets so many transactions wait, and no more', async () => {
    const url = new Secret(await start((methods) => !methods.includes('eth_sendRawTransaction')));
    const endpoint = new RpcEndpoint('56-0', 56, url, () => undefined);
    const sends = Array.from({ length: 500 }, () =>
      endpoint.request('eth_sendRawTransaction', ['0x'], 60_000),
    );
    const first = await Promise.race(sends);
    expect(first).toEqual({ kind: 'silent', cause: 'not_sent' });
    await endpoint.close();
    const all = await Promise.all(sends);
    expect(all.filter((one) => one.kind === 'silent' && one.cause === 'not_sent')).toHaveLength(
      300,
    );
    server?.closeAllConnections();
  });

  describe('calls of isolated code', () => {
    /**
     * A node that closes the connection on a request with a call for `0xdead` in it; it notes which
     * calls came together.
     */
    function startBesideSilence(arrived: string[][]): Promise<string> {
      server = createServer((request, response) => {
        let text = '';
        request.on('data', (part: Buffer) => (text += part.toString()));
        request.on('end', () => {
          const asked = JSON.parse(text) as { id: number; method: string; params: string[] }[];
          const calls = asked.filter(({ method }) => method === 'eth_call');
          arrived.push(calls.map(({ params }) => String(params[0])));
          if (calls.some(({ params }) => params[0] === '0xdead')) {
            response.destroy();
            return;
          }
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
        endpoint.request('eth_call', [to], 20_000, { kind: 'new', subject: to, gas: 1n });
      const [silent, good] = await Promise.all([ask('0xdead'), ask('0xbeef')]);
      expect(arrived[0]).toEqual(['0xdead', '0xbeef']);
      expect(good).toEqual({ kind: 'result', value: '0x01' });
      expect(silent).toEqual({ kind: 'silent', cause: 'connection' });
      await endpoint.close();
    });
  });
});
