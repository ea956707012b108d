import { createServer, type Server, type ServerResponse } from 'node:http';
import { Pool } from 'undici';
import { freePort } from '../../sandbox/processes.js';

/** What went to the node since it was last asked. */
interface Counted {
  /** HTTP requests; a JSON-RPC batch is one. */
  readonly requests: number;
  /** Calls by method. */
  readonly calls: Readonly<Record<string, number>>;
}

/** Passes JSON-RPC on to a node and counts it. */
export class CountingProxy {
  #requests = 0;
  #calls: Record<string, number> = {};

  readonly #pool: Pool;
  readonly #server: Server;

  private constructor(
    rpcUrl: string,
    private readonly port: number,
  ) {
    this.#pool = new Pool(new URL(rpcUrl).origin, { connections: 64 });
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        void this.#pass(Buffer.concat(chunks).toString(), response);
      });
    });
  }

  static async start(rpcUrl: string): Promise<CountingProxy> {
    const proxy = new CountingProxy(rpcUrl, await freePort());
    await new Promise<void>((resolve) => proxy.#server.listen(proxy.port, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async #pass(body: string, response: ServerResponse): Promise<void> {
    this.#count(body);
    try {
      const answer = await this.#pool.request({
        method: 'POST',
        path: '/',
        headers: JSON_HEADERS,
        body,
      });
      response.writeHead(answer.statusCode, JSON_HEADERS).end(await answer.body.text());
    } catch {
      // The node is gone, or the bench is ending: the caller sees a broken connection.
      response.destroy();
    }
  }

  #count(body: string): void {
    this.#requests += 1;
    const parsed = JSON.parse(body) as { method: string } | { method: string }[];
    for (const { method } of Array.isArray(parsed) ? parsed : [parsed]) {
      this.#calls[method] = (this.#calls[method] ?? 0) + 1;
    }
  }

  take(): Counted {
    const counted = { requests: this.#requests, calls: this.#calls };
    this.#requests = 0;
    this.#calls = {};
    return counted;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await this.#pool.close();
  }
}

const JSON_HEADERS = { 'content-type': 'application/json' };
