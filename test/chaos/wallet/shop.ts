import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Address, encodeFunctionData, type Hex, parseAbi, parseSignature } from 'viem';
import { USD_NAME, USD_VERSION } from '../../../sandbox/deploy.js';
import { newAccount } from '../../support/payments.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import type { World } from '../../support/world.js';

/** Of everything that is sold here: 1.00. */
export const PRICE = 10n ** 18n;

const TOKEN = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
]);

export interface Authorization {
  readonly from: Address;
  readonly to: Address;
  readonly value: string;
  readonly validAfter: string;
  readonly validBefore: string;
  readonly nonce: Hex;
}

interface Held {
  readonly signature: Hex;
  readonly authorization: Authorization;
}

/**
 * A seller that wants as much as it can get: it executes every signature it ever saw, at once, late, or
 * again, and answers as it likes.
 */
export class Shop {
  readonly payTo = newAccount().address;
  /** Every payment shown, by what was bought: an intent may have had more than one, one after another. */
  readonly shown = new Map<string, Set<Hex>>();
  #held: Held[] = [];
  #sending: Promise<unknown> = Promise.resolve();
  #random: SeededRandom | undefined;
  readonly #sender = newAccount().address;

  private constructor(
    private readonly world: World,
    private readonly server: Server,
  ) {}

  static async start(world: World): Promise<Shop> {
    const server = createServer();
    const shop = new Shop(world, server);
    server.on('request', (request, response) => {
      const header = request.headers['payment-signature'];
      const sold = request.url ?? '';
      if (typeof header !== 'string') {
        response.writeHead(402, { 'payment-required': shop.#offer() }).end('{}');
        return;
      }
      const { payload } = JSON.parse(Buffer.from(header, 'base64').toString()) as { payload: Held };
      shop.#note(sold, payload);
      shop.#answer(payload).then(
        (status) => {
          if (status === 0) response.destroy();
          else response.writeHead(status).end('goods');
        },
        () => response.destroy(),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await world.client.setBalance({ address: shop.#sender, value: 10n ** 24n });
    await world.client.impersonateAccount({ address: shop.#sender });
    return shop;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Decides from here on. */
  use(random: SeededRandom): void {
    this.#random = random;
  }

  /** A signature that came another way. */
  hold(held: Held): void {
    this.#held.push(held);
  }

  /** Whatever it has, the expired too: the chain takes each at most once. */
  async executeAll(): Promise<void> {
    const all = this.#held;
    this.#held = [];
    await Promise.all(all.map((held) => this.#execute(held)));
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  #offer(): string {
    const { usd, chainId } = this.world;
    const maxTimeoutSeconds = this.#random?.pick([1, 2, 3, 20, 600]) ?? 600;
    const accepts = [
      {
        scheme: 'exact',
        network: `eip155:${chainId}`,
        asset: usd,
        payTo: this.payTo,
        amount: PRICE.toString(),
        maxTimeoutSeconds,
        extra: { name: USD_NAME, version: USD_VERSION },
      },
    ];
    const required = { x402Version: 2, accepts, resource: { url: this.url } };
    return Buffer.from(JSON.stringify(required)).toString('base64');
  }

  #note(sold: string, { authorization }: Held): void {
    const nonces = this.shown.get(sold) ?? new Set();
    this.shown.set(sold, nonces.add(authorization.nonce));
  }

  /** @returns the status to answer with; 0 to hang up. */
  async #answer(held: Held): Promise<number> {
    const how = this.#random?.pick(['settles', 'settles', 'settles', 'keeps', 'hangs up', 'lies']);
    if (how !== 'settles') this.#held.push(held);
    if (how === 'settles') await this.#execute(held);
    if (how === 'keeps') return 500;
    return how === 'hangs up' ? 0 : 200;
  }

  /** One after another: they come from one account. */
  async #execute({ authorization, signature }: Held): Promise<void> {
    const { from, to, value, validAfter, validBefore, nonce } = authorization;
    const { v = 27n, r, s } = parseSignature(signature);
    const data = encodeFunctionData({
      abi: TOKEN,
      args: [
        ...([from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore)] as const),
        ...([nonce, Number(v), r, s] as const),
      ],
    });
    const transaction = { from: this.#sender, to: this.world.usd, data, gas: 200_000n };
    const sent = this.#sending.then(() => this.world.client.sendUnsignedTransaction(transaction));
    this.#sending = sent.catch(() => undefined);
    await this.#sending;
  }
}
