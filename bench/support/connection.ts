import { connect, type Socket } from 'node:net';

export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Longer than any service under test waits for a block. */
const PATIENCE_MS = 120_000;
const HEAD_END = '\r\n\r\n';

/**
 * One HTTP/1.1 connection that posts or gets JSON, one request at a time. A general client takes as much
 * processor time for a request as the service under test does, on the same cores; this one takes a
 * third of that. It understands answers with a Content-Length, as all of those measured here are.
 */
export class JsonConnection {
  readonly #lines: string;
  #socket: Socket | undefined;
  #received = '';
  #settle: ((answer: HttpAnswer | Error) => void) | undefined;

  constructor(
    private readonly url: URL,
    private readonly path: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.#lines = linesOf({ Host: url.host, ...headers });
  }

  /** @param body - ASCII. @throws Error when the connection breaks or stays silent. */
  post(body: string): Promise<HttpAnswer> {
    const about = linesOf({
      'Content-Type': 'application/json',
      'Content-Length': String(body.length),
    });
    return this.#ask(`POST ${this.path} HTTP/1.1\r\n${this.#lines}${about}\r\n${body}`);
  }

  /**
   * @param query - comes after the path of the connection.
   * @throws Error when the connection breaks or stays silent.
   */
  get(query: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    return this.#ask(`GET ${this.path}${query} HTTP/1.1\r\n${this.#lines}${linesOf(headers)}\r\n`);
  }

  async #ask(request: string): Promise<HttpAnswer> {
    const socket = (this.#socket ??= this.#open());
    const answer = await new Promise<HttpAnswer | Error>((resolve) => {
      this.#settle = resolve;
      socket.write(request, 'latin1');
    });
    if (answer instanceof Error) throw answer;
    return answer;
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    const socket = connect({ host: this.url.hostname, port: Number(this.url.port), noDelay: true });
    socket.setEncoding('utf8');
    socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error('silence')));
    socket.on('data', (text: string) => {
      this.#receive(text);
    });
    let problem = new Error('closed');
    socket.on('error', (error) => {
      problem = error;
    });
    socket.on('close', () => {
      this.#socket = undefined;
      this.#end(problem);
    });
    return socket;
  }

  #receive(text: string): void {
    this.#received += text;
    const end = this.#received.indexOf(HEAD_END);
    if (end === -1) return;
    const head = this.#received.slice(0, end);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) {
      this.#socket?.destroy(new Error('an answer without a length'));
      return;
    }
    const body = this.#received.slice(end + HEAD_END.length);
    if (Buffer.byteLength(body) < Number(length)) return;
    // "HTTP/1.1 200": three digits after the ninth character (RFC 9112 §4).
    this.#end({ status: Number(head.slice(9, 12)), body: JSON.parse(body) });
  }

  #end(answer: HttpAnswer | Error): void {
    this.#received = '';
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(answer);
  }
}

function linesOf(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
}
