import type { FetchAnswer, FetchRequest } from '../../platform/fetch/safe-fetch.js';
import type { JsonObject } from '../../protocol/payment/wire-values.js';
import { PAYEE, TOKEN } from '../lesson.builder.js';

export const at = (name: string | number): string => `https://shop.example.com/${name}`;

/** An item as other catalogues answer it. */
export function aForeignItem(name: string | number, more: JsonObject = {}): JsonObject {
  return {
    ...{ resource: at(name), type: 'http', x402Version: 2, lastUpdated: '2026-11-01T00:00:00Z' },
    accepts: [aForeignOffer()],
    extensions: { bazaar: { info: { input: { type: 'http', method: 'GET' } } } },
    ...more,
  };
}

export function aForeignOffer(more: JsonObject = {}): JsonObject {
  return {
    ...{ scheme: 'exact', network: 'eip155:56', amount: '1000', asset: TOKEN, payTo: PAYEE },
    ...{ maxTimeoutSeconds: 60, extra: { name: 'USD', version: '2' }, ...more },
  };
}

type Answering = (url: URL) => unknown;

/** Other catalogues, by their hosts; what they answer is a value, bytes, an error or nothing ever. */
export class FakeSources {
  readonly asked: URL[] = [];
  readonly headers: FetchRequest['headers'][] = [];
  readonly #answering = new Map<string, Answering>();

  /** @param answer - of each question; an `Error` is thrown, and bytes are what they are. */
  answers(host: string, answer: Answering): void {
    this.#answering.set(host, answer);
  }

  /** Lists these as a catalogue of our kind does. */
  lists(host: string, items: readonly unknown[]): void {
    this.answers(host, (url) => {
      const [limit, offset] = ['limit', 'offset'].map((name) => Number(url.searchParams.get(name)));
      const page = items.slice(offset, (offset ?? 0) + (limit ?? 0));
      return url.pathname.endsWith('/search')
        ? { resources: page, partialResults: false }
        : { items: page, pagination: { total: items.length } };
    });
  }

  async fetch({ url: asked, headers }: FetchRequest): Promise<FetchAnswer> {
    const url = new URL(asked);
    this.asked.push(url);
    this.headers.push(headers);
    const answer = await this.#answering.get(url.host)?.(url);
    if (answer instanceof Error) throw answer;
    const text = answer === undefined ? '' : JSON.stringify(answer);
    const body = Buffer.isBuffer(answer) ? answer : Buffer.from(text);
    return { url: asked, status: 200, headers: {}, body, isCutOff: false };
  }
}
