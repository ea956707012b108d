import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nested } from '../wallet/hostile-data.js';

type Way = (response: ServerResponse, isPaying: boolean) => void;

export interface HostileSeller {
  /** One URL for each way of answering. */
  readonly urls: readonly string[];
  stop(): void;
}

/**
 * A seller that always answers, in ways that make little sense, and settles nothing.
 *
 * @param offer - one that could be paid.
 * @param foreign - a transaction of another sender.
 */
export async function startHostileSeller(offer: object, foreign: string): Promise<HostileSeller> {
  const required = (more: object = {}): string =>
    JSON.stringify({ x402Version: 2, accepts: [{ ...offer, ...more }] });
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const receipt = (transaction: string): string =>
    base64(JSON.stringify({ success: true, transaction, network: 'eip155:31337', payer: '0x' }));
  /** Demands, and answers to a payment that it is paid. */
  const sells =
    (status: number, headers: Readonly<Record<string, string>>): Way =>
    (response, isPaying) => {
      if (isPaying) response.writeHead(status, headers).end('goods');
      else response.writeHead(402, { 'payment-required': base64(required()) }).end();
    };
  const ways: Readonly<Record<string, Way>> = {
    invented: sells(200, { 'payment-response': receipt(`0x${'ab'.repeat(32)}`) }),
    accepted: sells(202, {}),
    empty: sells(204, {}),
    foreign: sells(200, { 'payment-response': receipt(foreign) }),
    free: (response) => response.end('free'),
    plain: (response) => response.writeHead(402).end(required()),
    header: (response) => response.writeHead(402, { 'payment-required': base64(required()) }).end(),
    deep: (response) =>
      response
        .writeHead(402)
        .end(required().replace('"x402Version"', `"x":${nested(5000)},"x402Version"`)),
    many: (response) =>
      response
        .writeHead(402)
        .end(JSON.stringify({ x402Version: 2, accepts: Array(2000).fill(offer) })),
    dear: (response) => response.writeHead(402).end(required({ amount: '9'.repeat(78) })),
    large: (response) => response.writeHead(402).end('x'.repeat(600_000)),
    binary: (response) => response.writeHead(200).end(Buffer.alloc(50_000, 0xff)),
    names: (response) =>
      response.writeHead(402).end(required({ extra: { name: 'x'.repeat(200_000) } })),
    nothing: (response) => response.writeHead(402).end(),
    redirect: (response) => response.writeHead(302, { location: '/redirect' }).end(),
    inward: (response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    odd: (response) => response.writeHead(418, { 'payment-response': base64(nested(100)) }).end(),
  };
  const server: Server = createServer((request, response) => {
    request.resume();
    const way = ways[(request.url ?? '').slice(1)] ?? ways['free'];
    way?.(response, 'payment-signature' in request.headers);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    urls: Object.keys(ways).map((way) => `http://127.0.0.1:${port}/${way}`),
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
