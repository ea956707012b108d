import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { SeededRandom } from '../../support/seeded-random.js';
import { delay } from '../client.js';

/**
 * How a receiver takes deliveries.
 *
 * - `well`: at once.
 * - `slow`: after a second or two.
 * - `moody`: it refuses, aborts, redirects or takes the first attempt; it takes the second one.
 * - `dead`: never.
 */
export const CONDUCTS = ['well', 'slow', 'moody', 'dead'] as const;
export type Conduct = (typeof CONDUCTS)[number];

/** One attempt whose signature the stock library has verified. */
export interface Delivery {
  readonly path: string;
  readonly id: string;
  readonly type: string;
  readonly body: string;
  readonly settlementId: string;
  /** In the order of all that happened here. */
  readonly arrivedAt: number;
  /** When the last byte of a 2xx was handed over; `undefined` where it was not taken. */
  acceptedAt: number | undefined;
}

/** Before an event is answered, or when it was. */
interface ReceiverMoment {
  readonly when: 'before' | 'after';
  readonly spring: () => void;
}

const SLOW_LEAST_MS = 300;
const SLOW_MOST_MS = 1500;

/** The servers of all sellers: each path is one, with a secret and a conduct of its own. */
export class Receiver {
  readonly received: Delivery[] = [];
  /** Deliveries with a signature that the stock library refused, or that were not expected. */
  readonly wrong: string[] = [];
  moment: ReceiverMoment | undefined;
  readonly #places = new Map<string, { readonly secret: string; readonly conduct: Conduct }>();
  readonly #met = new Set<string>();
  #clock = 0;
  #isAway = false;

  private constructor(
    private readonly server: Server,
    private readonly random: SeededRandom,
  ) {}

  static async start(random: SeededRandom): Promise<Receiver> {
    const server = createServer((request, response) => {
      receiver.#take(request, response).catch(() => request.destroy());
    });
    const receiver = new Receiver(server, random);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  url(path: string): string {
    return `http://${this.host}${path}`;
  }

  open(path: string, secret: string, conduct: Conduct): void {
    this.#places.set(path, { secret, conduct });
  }

  /** For a while every connection is broken before anything is read. */
  async leave(ms: number): Promise<void> {
    this.#isAway = true;
    this.server.closeAllConnections();
    await delay(ms);
    this.#isAway = false;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#isAway) {
      request.destroy();
      return;
    }
    const path = request.url ?? '';
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const { type, data } = JSON.parse(body) as {
      readonly type: string;
      readonly data: { readonly challenge?: string };
    };
    if (type === 'webhook.challenge' && !this.#places.has(path)) {
      // It comes again when the seller has read its secret.
      response.writeHead(401).end();
      return;
    }
    const delivery = this.#read(path, request, body);
    if (delivery !== undefined && type === 'webhook.challenge') {
      response.end(data.challenge);
      return;
    }
    if (delivery === undefined) {
      response.writeHead(401).end();
      return;
    }
    this.received.push(delivery);
    if (this.#springs('before')) {
      request.destroy();
      return;
    }
    const isAccepted = await this.#answer(path, delivery, response);
    if (!isAccepted) return;
    delivery.acceptedAt = this.#tick();
    this.#springs('after');
  }

  #read(path: string, request: IncomingMessage, body: string): Delivery | undefined {
    const place = this.#places.get(path);
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    try {
      if (place === undefined) throw new Error('nobody is there');
      new Webhook(place.secret).verify(body, headers);
    } catch (error) {
      this.wrong.push(`${path}: ${(error as Error).message}`);
      return undefined;
    }
    const { type, data } = JSON.parse(body) as {
      readonly type: string;
      readonly data: { readonly settlementId?: string };
    };
    return {
      path,
      type,
      body,
      id: headers['webhook-id'] ?? '',
      settlementId: data.settlementId ?? '',
      arrivedAt: this.#tick(),
      acceptedAt: undefined,
    };
  }

  /** @returns whether it took it, and has said so to the end. */
  async #answer(path: string, { id }: Delivery, response: ServerResponse): Promise<boolean> {
    const conduct = this.#places.get(path)?.conduct;
    const isAgain = this.#met.has(`${path} ${id}`);
    this.#met.add(`${path} ${id}`);
    switch (conduct) {
      case 'dead':
        response.writeHead(500).end('out of order');
        return false;
      case 'slow':
        await delay(this.random.between(SLOW_LEAST_MS, SLOW_MOST_MS));
        return accept(response);
      case 'moody':
        return isAgain || this.random.chance(0.4) ? accept(response) : this.#refuse(response);
      case 'well':
      case undefined:
        return accept(response);
    }
  }

  async #refuse(response: ServerResponse): Promise<false> {
    switch (this.random.below(4)) {
      case 0:
        response.writeHead(500).end('out of order');
        break;
      case 1:
        response.writeHead(307, { location: this.url('/elsewhere') }).end();
        break;
      case 2:
        // In the middle of an answer that might have been good.
        response.socket?.write('HTTP/1.1 20');
        await delay(50);
        response.destroy();
        break;
      default:
        response.destroy();
    }
    return false;
  }

  #springs(when: ReceiverMoment['when']): boolean {
    const { moment } = this;
    if (moment?.when !== when) return false;
    this.moment = undefined;
    moment.spring();
    return true;
  }

  #tick(): number {
    this.#clock += 1;
    return this.#clock;
  }
}

/** Resolves when the answer was handed over, or its connection was lost. */
function accept(response: ServerResponse): Promise<boolean> {
  return new Promise((resolve) => {
    if (response.destroyed) resolve(false);
    response.once('finish', () => {
      resolve(true);
    });
    response.once('close', () => {
      resolve(false);
    });
    response.writeHead(204).end();
  });
}
