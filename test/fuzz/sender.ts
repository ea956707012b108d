import { Agent, request } from 'node:http';
import type { GeneratedRequest } from './requests.js';

const PATIENCE_MS = 20_000;

/** An answer, whole. */
export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: string;
}

/** Sends generated requests as they are, over a few connections that are kept. */
export class Sender {
  readonly #agent: Agent;

  constructor(
    private readonly serviceUrl: string,
    readonly atOnce: number,
    /** Where it serves its operators, where that is asked, too. */
    private readonly opsUrl: string = serviceUrl,
  ) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  }

  /** @throws Error when there is no answer in time. */
  send(asked: GeneratedRequest): Promise<Answered> {
    const { method, template, path, headers, body } = asked;
    const isForOps = template.startsWith('/admin');
    return new Promise((resolve, reject) => {
      const { hostname: host, port } = new URL(isForOps ? this.opsUrl : this.serviceUrl);
      // For some methods Node would send the body without saying how long it is.
      const length = body === undefined ? {} : { 'content-length': body.length };
      const sending = { agent: this.#agent, timeout: PATIENCE_MS };
      const options = { host, port, method: method.toUpperCase(), path };
      const sent = request(
        { ...options, headers: { ...headers, ...length }, ...sending },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            resolve({
              status: response.statusCode ?? 0,
              text: Buffer.concat(chunks).toString('utf8'),
              headers: JSON.stringify(response.rawHeaders),
            });
          });
        },
      );
      sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
      sent.on('error', (error) => {
        reject(new Error(`${error.message}\n${describe(asked)}`));
      });
      sent.end(body);
    });
  }

  /**
   * Sends as many as are asked for, a few at a time.
   *
   * @param problemsOf - what is wrong with an answer; the first that has anything ends the run.
   * @returns how often each status came.
   */
  async run(
    count: number,
    next: () => GeneratedRequest | Promise<GeneratedRequest>,
    problemsOf: (asked: GeneratedRequest, answered: Answered) => readonly string[],
  ): Promise<ReadonlyMap<number, number>> {
    const statuses = new Map<number, number>();
    let left = count;
    const one = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const asked = await next();
        const answered = await this.send(asked);
        statuses.set(answered.status, (statuses.get(answered.status) ?? 0) + 1);
        const problems = problemsOf(asked, answered);
        if (problems.length > 0) {
          const answer = `${answered.status} ${answered.text.slice(0, 1000)}`;
          throw new Error(`${problems.join('; ')}\n${describe(asked)}\n${answer}`);
        }
      }
    };
    await Promise.all(Array.from({ length: this.atOnce }, one));
    return statuses;
  }

  close(): void {
    this.#agent.destroy();
  }
}

function describe({ method, path, headers, body }: GeneratedRequest): string {
  const text = body?.toString('utf8').slice(0, 2000);
  return JSON.stringify({ method, path, headers, body: text });
}
