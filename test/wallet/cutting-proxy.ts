import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer that passed the proxy. */
interface PassedAnswer {
  readonly status: number;
  /** The requested range. */
  readonly range: string | undefined;
  /** Whether the request brought a payment. */
  readonly isPaying: boolean;
}

/** Stands before a server, and breaks its connections off in the middle of what is large. */
export class CuttingProxy {
  readonly passed: PassedAnswer[] = [];
  /** How many more large answers are cut. */
  cuts = 0;
  /** Large answers stop after their first part, and neither go on nor end, until this is false again. */
  isStalling = false;
  readonly #server: Server;

  private constructor(private readonly target: URL) {
    this.#server = createServer((incoming, outgoing) => {
      this.#pass(incoming, outgoing);
    });
  }

  static async before(target: string, port = 0): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(new URL(target));
    proxy.#server.listen(port, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method, url, headers } = incoming;
    const onward = request(new URL(url ?? '/', this.target), { method, headers }, (answer) => {
      const { statusCode: status = 0 } = answer;
      const isPaying = headers['payment-signature'] !== undefined;
      this.passed.push({ status, range: headers.range, isPaying });
      outgoing.writeHead(status, answer.headers);
      const isLarge = Number(answer.headers['content-length'] ?? 0) > LARGE && status < 300;
      const isCut = isLarge && this.cuts > 0;
      if (isCut) this.cuts -= 1;
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (isLarge && this.isStalling && bytes > LARGE) return;
        outgoing.write(chunk);
        if (isCut && bytes > LARGE) outgoing.destroy();
      });
      answer.on('end', () => {
        if (!(isLarge && this.isStalling)) outgoing.end();
      });
      answer.on('error', () => outgoing.destroy());
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }
}

/** Bytes of what is large, and after which it is cut. */
const LARGE = 500_000;
