import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** One request, as the stock library took it. */
interface Received {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly path: string;
}

type Conduct = (response: ServerResponse, request: IncomingMessage) => void;

const ACCEPT: Conduct = (response) => response.writeHead(204).end();

/** A seller's server that receives webhooks. Each path may behave in its own way. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  /** Requests that no secret of their path has signed. */
  readonly refused: string[] = [];
  /** Paths that were sent a challenge, each as often as it was. */
  readonly challenged: string[] = [];
  /** Paths that do not answer challenges. */
  readonly mute = new Set<string>();
  readonly #secrets = new Map<string, string[]>();
  readonly #conducts = new Map<string, Conduct>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<WebhookReceiver> {
    const server = createServer((request, response) => {
      void receiver.#take(request, response);
    });
    const receiver = new WebhookReceiver(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  url(path: string): string {
    return `http://${this.host}${path}`;
  }

  trust(path: string, ...secrets: readonly string[]): void {
    this.#secrets.set(path, [...secrets]);
  }

  /** How a path answers from now on; as it should where nothing is given. */
  behave(path: string, conduct: Conduct = ACCEPT): void {
    this.#conducts.set(path, conduct);
  }

  at(path: string): readonly Received[] {
    return this.received.filter((one) => one.path === path);
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    const secrets = this.#secrets.get(path) ?? [];
    const isGood =
      secrets.length > 0 &&
      secrets.every((secret) => {
        try {
          new Webhook(secret).verify(body, headers);
          return true;
        } catch {
          return false;
        }
      });
    const { type, data } = JSON.parse(body) as Pick<Received, 'type' | 'data'>;
    if (type === 'webhook.challenge') {
      // It may come before its owner has read the secret: then it comes again.
      const isMet = isGood && !this.mute.has(path);
      this.challenged.push(path);
      response.writeHead(isMet ? 200 : 401).end(isMet ? data['challenge'] : '');
      return;
    }
    if (isGood) {
      this.received.push({ id: headers['webhook-id'] ?? '', type, data, path });
    } else {
      this.refused.push(path);
    }
    (this.#conducts.get(path) ?? ACCEPT)(response, request);
  }
}
