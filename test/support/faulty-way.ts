import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** Of a connection, and not of what is sent over it. */
const OF_THE_WAY = new Set(['host', 'connection', 'content-length']);

/** The way to an HTTP service, which throttles some signatures and can be cut. */
export class FaultyWay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Of a hundred signatures so many are answered as AWS KMS throttles. */
  throttledPercent = 0;
  isCut = false;
  passed = 0;
  throttled = 0;
  cut = 0;
  #asked = 0;

  private constructor(
    private readonly target: string,
    server: Server,
  ) {
    this.#server = server;
  }

  static async to(target: string): Promise<FaultyWay> {
    const server = createServer((request, response) => {
      way.#serve(request, response).catch(() => request.socket.destroy());
    });
    const way = new FaultyWay(target, server);
    server.on('connection', (socket) => {
      way.#sockets.add(socket);
      socket.once('close', () => way.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return way;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** As it was at first: nothing was counted, nothing is wrong. */
  reset(): void {
    [this.passed, this.throttled, this.cut, this.throttledPercent] = [0, 0, 0, 0];
    this.isCut = false;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (this.isCut) {
      this.cut += 1;
      request.socket.destroy();
      return;
    }
    const isSignature = request.headers['x-amz-target'] === 'TrentService.Sign';
    if (isSignature && this.#isThrottled()) {
      response.writeHead(400, { 'content-type': 'application/x-amz-json-1.1' });
      response.end(JSON.stringify({ __type: 'ThrottlingException' }));
      return;
    }
    const headers = Object.entries(request.headers).filter(([name]) => !OF_THE_WAY.has(name));
    const answer = await fetch(new URL(request.url ?? '/', this.target), {
      method: request.method ?? 'POST',
      headers: headers.map(([name, value]): [string, string] => [name, String(value)]),
      body: Buffer.concat(chunks),
    });
    // Cut between the signature and its answer: the signature is made, and its caller never gets
    // it.
    if (this.#isCutNow()) {
      this.cut += 1;
      request.socket.destroy();
      return;
    }
    if (isSignature) this.passed += 1;
    const type = answer.headers.get('content-type') ?? 'application/x-amz-json-1.1';
    response.writeHead(answer.status, { 'content-type': type });
    response.end(Buffer.from(await answer.arrayBuffer()));
  }

  /** It may have been cut while its target answered. */
  #isCutNow(): boolean {
    return this.isCut;
  }

  #isThrottled(): boolean {
    this.#asked += 1;
    if ((this.#asked * 37) % 100 >= this.throttledPercent) return false;
    this.throttled += 1;
    return true;
  }
}
