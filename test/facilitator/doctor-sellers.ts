import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Address } from 'viem';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { gzipBomb } from '../builders/platform/fetch/gzip-bomb.js';

/** Sellers that have one fault each, and hostile ones. */

const GZIP_BOMB = gzipBomb();

export interface SellerWorld {
  readonly network: string;
  readonly usd: Address;
  readonly coin: Address;
  readonly payTo: Address;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
type Json = Readonly<Record<string, unknown>>;

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');

export function acceptOf({ network, usd, payTo }: SellerWorld, more: Json = {}): Json {
  return {
    scheme: 'exact',
    network,
    amount: '100000000000000000',
    asset: usd,
    payTo,
    maxTimeoutSeconds: 300,
    extra: { name: USD_NAME, version: USD_VERSION },
    ...more,
  };
}

function termsOf(accepts: unknown, more: Json = {}): Json {
  const resource = { url: 'https://seller.example/report', description: '', mimeType: '' };
  return { x402Version: 2, error: 'Payment required', resource, accepts, ...more };
}

/** Demands payment by the header, as stock middleware does. */
function demands(terms: unknown, headers: Record<string, string> = {}): Handler {
  return ({ method }, response) => {
    const allowed = { 'Access-Control-Allow-Headers': 'PAYMENT-SIGNATURE' };
    if (method === 'OPTIONS') response.writeHead(204, allowed).end();
    else response.writeHead(402, { 'PAYMENT-REQUIRED': base64(terms), ...headers }).end('{}');
  };
}

const PERMIT2_EXTRA = { assetTransferMethod: 'permit2' };

/** Planted errors, by the code of the finding that has to name them. */
export function plantedFaults(world: SellerWorld): Readonly<Record<string, Handler>> {
  const accept = (more: Json): Handler => demands(termsOf([acceptOf(world, more)]));
  const plain = { asset: world.coin, extra: PERMIT2_EXTRA };
  const sponsored = { ...plain, extra: { ...PERMIT2_EXTRA, name: 'Sandbox Coin', version: '1' } };
  return {
    answers_without_payment: (_request, response) => response.end('{"report":"free"}'),
    validates_before_payment: (request, response) => {
      const { 'content-length': length = '0' } = request.headers;
      if (length === '0') response.writeHead(400).end('no body');
      else demands(termsOf([acceptOf(world)]))(request, response);
    },
    asks_for_login: (_request, response) => response.writeHead(401).end(),
    header_not_base64: (_request, response) => {
      const header = JSON.stringify(termsOf([acceptOf(world)]));
      response.writeHead(402, { 'PAYMENT-REQUIRED': header }).end();
    },
    header_encoded_twice: (_request, response) => {
      const twice = Buffer.from(base64(termsOf([acceptOf(world)]))).toString('base64');
      response.writeHead(402, { 'PAYMENT-REQUIRED': twice }).end();
    },
    v2_in_body_only: (_request, response) => {
      response.writeHead(402, { 'content-type': 'application/json' });
      response.end(JSON.stringify(termsOf([acceptOf(world)])));
    },
    amount_not_atomic: accept({ amount: '$0.10' }),
    network_of_other_version: accept({ network: 'bsc-testnet' }),
    network_not_served: accept({ network: 'eip155:8453' }),
    asset_is_no_contract: accept({ asset: `0x${'12'.repeat(20)}` }),
    token_without_eip3009: accept({ asset: world.coin }),
    name_differs: accept({ extra: { name: 'SUSD', version: USD_VERSION } }),
    version_differs: accept({ extra: { name: USD_NAME, version: '2' } }),
    amount_looks_small: accept({ amount: '100000' }),
    pays_nobody: accept({ payTo: `0x${'0'.repeat(40)}` }),
    pays_the_token: accept({ payTo: world.usd }),
    pays_a_contract: accept({ payTo: world.coin }),
    timeout_too_short: accept({ maxTimeoutSeconds: 5 }),
    both_gas_sponsorings: demands(
      termsOf([acceptOf(world, sponsored)], {
        extensions: {
          eip2612GasSponsoring: { info: {}, schema: {} },
          erc20ApprovalGasSponsoring: { info: {}, schema: {} },
        },
      }),
    ),
    facilitator_address_missing: accept({ ...plain, scheme: 'upto' }),
    verify_refuses: accept({
      ...plain,
      scheme: 'upto',
      extra: { ...PERMIT2_EXTRA, facilitatorAddress: `0x${'34'.repeat(20)}` },
    }),
    terms_hidden_from_browsers: demands(termsOf([acceptOf(world)]), {
      'Access-Control-Allow-Origin': '*',
    }),
  };
}

/** Sellers that attack the client that calls them. */
export function hostileSellers(world: SellerWorld, tripwire: string): Record<string, Handler> {
  const redirect = (location: string): Handler => {
    return (_request, response) => response.writeHead(302, { location }).end();
  };
  const long = '\u202E<script>alert(1)</script>\r\n'.repeat(20);
  return {
    'to-loopback': redirect(tripwire),
    'to-name': redirect(tripwire.replace('127.0.0.1', 'localhost')),
    'to-metadata': redirect('http://169.254.169.254/latest/meta-data/iam/'),
    'to-ipv6': redirect('http://[::ffff:127.0.0.1]:1/'),
    'to-file': redirect('file:///etc/passwd'),
    'round-and-round': redirect('/round-and-round'),
    huge: (_request, response) => {
      response.writeHead(402, { 'content-type': 'application/json' });
      const piece = Buffer.alloc(1 << 20, 0x20);
      const write = (): void => {
        while (!response.destroyed && response.write(piece));
      };
      response.on('drain', write);
      write();
    },
    bomb: (_request, response) => {
      response.writeHead(402, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(GZIP_BOMB);
    },
    slow: (_request, response) => {
      response.writeHead(402, { 'content-type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 100);
      response.on('close', () => {
        clearInterval(timer);
      });
    },
    silent: () => undefined,
    'long-header': demands(termsOf([acceptOf(world)], { extensions: { x: long.repeat(20) } })),
    'cut-off': (_request, response) => {
      response.writeHead(402, { 'content-length': '1000' });
      response.write('{');
      response.destroy();
    },
    nested: demands(JSON.parse(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`)),
    'many-offers': demands(termsOf(Array.from({ length: 10 }, () => acceptOf(world)))),
    'odd-text': demands(
      termsOf([
        acceptOf(world, {
          scheme: long,
          network: long,
          amount: long,
          asset: long,
          payTo: long,
          maxTimeoutSeconds: long,
          extra: long,
        }),
      ]),
    ),
  };
}

export interface RunningSellers {
  readonly url: string;
  readonly host: string;
  /** Requests that came, as `METHOD path`. */
  readonly asked: string[];
  close(): void;
}

/** Each handler at the path of its name. */
export async function startSellers(
  handlers: Readonly<Record<string, Handler>>,
): Promise<RunningSellers> {
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
    const handler = handlers[(request.url ?? '').slice(1)];
    if (handler === undefined) response.writeHead(404).end();
    else handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    asked,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
