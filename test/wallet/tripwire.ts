import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Before the request reaches the other side, or after that has done it and before the answer. */
export type Moment = 'before' | 'after';

interface Trap {
  readonly text: string;
  readonly moment: Moment;
  readonly spring: () => void;
}

/**
 * Stands between a process and its Redis, and acts when a command goes by. What the trap catches is
 * kept back: a command `before`, a reply `after`.
 */
export class RedisTripwire {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #trap: Trap | undefined;

  private constructor(port: number) {
    this.#server = createServer((asker) => {
      const redis = connect(port, '127.0.0.1');
      let isClosed = false;
      for (const socket of [asker, redis]) {
        this.#sockets.add(socket);
        socket.on('error', () => socket.destroy());
        socket.on('close', () => {
          isClosed = true;
          this.#sockets.delete(socket);
          asker.destroy();
          redis.destroy();
        });
      }
      let isCaught = false;
      asker.on('data', (chunk: Buffer) => {
        const trap = this.#trap;
        if (trap !== undefined && chunk.includes(trap.text)) {
          this.#trap = undefined;
          isCaught = true;
          if (trap.moment === 'before') {
            trap.spring();
            return;
          }
          redis.once('data', () => {
            trap.spring();
          });
        }
        if (!isClosed) redis.write(chunk);
      });
      redis.on('data', (chunk: Buffer) => {
        if (!isCaught && !isClosed) asker.write(chunk);
      });
    });
    this.#server.listen(0, '127.0.0.1');
  }

  static async start(port: number): Promise<RedisTripwire> {
    const wire = new RedisTripwire(port);
    await new Promise((resolve) => wire.#server.once('listening', resolve));
    return wire;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next command with this text in it; once. */
  set(text: string, moment: Moment, spring: () => void): void {
    this.#trap = { text, moment, spring };
  }

  disarm(): void {
    this.#trap = undefined;
  }

  stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Stands in front of a seller, and acts when a payment goes by. */
export class SellerTripwire {
  /** Payments that were shown, by payer, each as it was sent. */
  readonly shown = new Map<string, Set<string>>();
  readonly #server: HttpServer;
  #trap: Omit<Trap, 'text'> | undefined;

  private constructor(seller: string) {
    this.#server = createHttpServer((request, response) => {
      const payment = request.headers['payment-signature'];
      if (typeof payment === 'string') this.#note(payment);
      const trap = typeof payment === 'string' ? this.#trap : undefined;
      if (trap !== undefined) this.#trap = undefined;
      if (trap?.moment === 'before') {
        trap.spring();
        return;
      }
      void this.#pass(`${seller}${request.url ?? ''}`, payment, response, trap).catch(() => {
        response.destroy();
      });
    });
  }

  static async start(seller: string): Promise<SellerTripwire> {
    const wire = new SellerTripwire(seller);
    await new Promise<void>((resolve) => wire.#server.listen(0, '127.0.0.1', resolve));
    return wire;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  set(moment: Moment, spring: () => void): void {
    this.#trap = { moment, spring };
  }

  /** On a connection of its own: one that rested may just be closed by the seller. */
  async #pass(
    url: string,
    payment: string | string[] | undefined,
    response: ServerResponse,
    trap: Omit<Trap, 'text'> | undefined,
  ): Promise<void> {
    const headers = {
      connection: 'close',
      ...(typeof payment === 'string' && { 'payment-signature': payment }),
    };
    const answer = await fetch(url, { headers });
    const body = await answer.text();
    if (trap !== undefined) {
      trap.spring();
      return;
    }
    const kept = [...answer.headers].filter(([name]) => /^(content-type|payment-)/.test(name));
    response.writeHead(answer.status, Object.fromEntries(kept)).end(body);
  }

  #note(payment: string): void {
    const { payload } = JSON.parse(Buffer.from(payment, 'base64').toString()) as {
      readonly payload: { readonly authorization: { readonly from: string } };
    };
    const payer = payload.authorization.from.toLowerCase();
    this.shown.set(payer, (this.shown.get(payer) ?? new Set()).add(payment));
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
