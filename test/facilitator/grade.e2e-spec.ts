import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HTTPFacilitatorClient } from '@x402/core/server';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import express from 'express';
import { freePort } from '../../sandbox/processes.js';
import { PAYEE, TOKEN } from '../builders/protocol/schemes/exact/exact-payment.js';
import { type Finished, ROOT, run } from '../support/programs.js';
import { gradedSeller, type Planted } from './graded-sellers.js';

/** Longer than the slowest settle that is played, shorter than patience. */
const SELLER_TIMEOUT_MS = 12_000;
const PATIENCE_SECONDS = '16';
const NETWORK = 'eip155:84532' as const;
const GRADED_MS = 240_000;

const folder = mkdtempSync(join(tmpdir(), 'x402-grade-'));
const servers: Server[] = [];

interface Graded extends Finished {
  readonly junit: string;
}

async function urlOf(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/report`;
}

const program = (...args: readonly string[]): Promise<Finished> =>
  run(process.execPath, ['--import', 'tsx', join(ROOT, 'sandbox/grade.ts'), ...args]);

async function graded(sellerOf: (facilitatorUrl: string) => Server): Promise<Graded> {
  const port = await freePort();
  const url = await urlOf(sellerOf(`http://127.0.0.1:${port}`));
  const junit = join(folder, `${port}.xml`);
  const finished = await program(
    url,
    '--port',
    String(port),
    '--patience',
    PATIENCE_SECONDS,
    '--junit',
    junit,
  );
  return { ...finished, junit: finished.status === 2 ? '' : readFileSync(junit, 'utf8') };
}

/** As the documentation of sellers has it. */
function stockSeller(facilitatorUrl: string, timeoutMs?: number): Server {
  const facilitator = new HTTPFacilitatorClient({
    url: facilitatorUrl,
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  const server = new x402ResourceServer(facilitator).register(NETWORK, new ExactEvmScheme());
  const price = { amount: '1000', asset: TOKEN, extra: { name: 'A dollar', version: '1' } };
  // It asks for what is supported when it is made: the facilitator has to be there by then.
  let app: express.Express | undefined;
  return createServer((request, response) => {
    if (app === undefined) {
      app = express();
      const accepts = {
        scheme: 'exact',
        network: NETWORK,
        payTo: PAYEE,
        price,
        maxTimeoutSeconds: 300,
      } as const;
      app.use(paymentMiddleware({ 'GET /report': { accepts, description: 'A report' } }, server));
      app.get('/report', (_request, answer) => answer.json({ report: 'All is well.' }));
    }
    app(request, response);
  });
}

const PLANTED: readonly (readonly [Planted, 1 | 2])[] = [
  ['delivers_twice', 2],
  ['delivers_without_success', 2],
  ['loses_paid_sale', 2],
  ['charges_again', 1],
  ['hangs', 2],
];

describe('npm run grade', () => {
  const results = new Map<string, Graded>();
  const of = (name: string): Graded => {
    const found = results.get(name);
    if (found === undefined) throw new Error(name);
    return found;
  };

  beforeAll(async () => {
    const sellers: [string, (url: string) => Server][] = [
      ...PLANTED.map(([fault, version]): [string, (url: string) => Server] => [
        fault,
        (facilitatorUrl) =>
          gradedSeller({ facilitatorUrl, version, fault, timeoutMs: SELLER_TIMEOUT_MS }),
      ]),
      ...([1, 2] as const).map((version): [string, (url: string) => Server] => [
        `sound V${version}`,
        (facilitatorUrl) => gradedSeller({ facilitatorUrl, version, timeoutMs: SELLER_TIMEOUT_MS }),
      ]),
      ['stock', (facilitatorUrl) => stockSeller(facilitatorUrl, SELLER_TIMEOUT_MS)],
      ['stock as it comes', (facilitatorUrl) => stockSeller(facilitatorUrl)],
    ];
    // Two at a time: what they wait for is time, and starting them is work.
    const take = async (): Promise<void> => {
      for (let next = sellers.shift(); next !== undefined; next = sellers.shift()) {
        results.set(next[0], await graded(next[1]));
      }
    };
    await Promise.all([take(), take(), take()]);
  }, GRADED_MS);
  afterAll(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  it.each(PLANTED)('finds %s in a seller of V%i, and nothing else', (fault) => {
    const { status, output, junit } = of(fault);
    expect([output, /^Found: (.*)$/m.exec(output)?.[1]]).toEqual([output, fault]);
    expect(status).toBe(1);
    expect(new Set([...junit.matchAll(/<failure type="(\w+)"/g)].map(([, type]) => type))).toEqual(
      new Set([fault]),
    );
  });

  it.each(['sound V1', 'sound V2'])('finds nothing in a seller that is %s', (name) => {
    const { status, output, junit } = of(name);
    expect([output, status]).toEqual([output, 0]);
    expect(output).toContain('Nothing found');
    expect(junit).toMatch(/<testsuite name="[^"]+" tests="10" failures="0" errors="0"/);
  });

  it('finds nothing in the stock middleware that has a time limit', () => {
    const { status, output } = of('stock');
    expect([output, status]).toEqual([output, 0]);
  });

  it('finds the stock middleware waiting for 90 seconds where it has none', () => {
    const { status, output } = of('stock as it comes');
    expect([output, status, /^Found: (.*)$/m.exec(output)?.[1]]).toEqual([output, 1, 'hangs']);
  });

  it.each<[string, () => Promise<string>, RegExp]>([
    ['is not there', async () => `http://127.0.0.1:${await freePort()}/report`, /does not answer/],
    [
      'asks for no payment',
      () => urlOf(createServer((_request, response) => response.end('free'))),
      /answers 200 without a payment/,
    ],
    [
      'asks another facilitator',
      async () =>
        urlOf(
          gradedSeller({
            facilitatorUrl: `http://127.0.0.1:${await freePort()}`,
            version: 2,
            timeoutMs: 1000,
          }),
        ),
      /without asking this facilitator/,
    ],
  ])('says so of a seller that %s, and ends with 2', async (_, urlFor, message) => {
    const port = String(await freePort());
    const { status, output } = await program(await urlFor(), '--port', port, '--wait', '1');
    expect([output, status]).toEqual([output, 2]);
    expect(output).toMatch(message);
  });

  it('shows how it is used', async () => {
    for (const args of [[], ['ftp://seller'], ['http://seller', '--patience', '0']]) {
      const { status, output } = await program(...args);
      expect([status, output]).toEqual([2, expect.stringContaining('npm run grade -- URL')]);
    }
  });
});
