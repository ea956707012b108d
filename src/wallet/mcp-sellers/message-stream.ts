import { createParser } from 'eventsource-parser';
import type { OpenAnswer } from '../../platform/fetch/safe-fetch.js';
import { isLightJson, isWithinBounds } from '../../protocol/payment/json-bounds.js';
import { isJsonObject, type JsonObject } from '../../protocol/payment/wire-values.js';
import { WalletError } from '../wallet-error.js';

/** Limits for one message; the bytes are limited with those of the whole answer. */
const MESSAGE_BOUNDS = { maxDepth: 32, maxValues: 100_000 } as const;

/**
 * Reads until the message that answers a request: the body itself, or one event of a stream. Other events are skipped,
 * and the rest of the stream is not read.
 *
 * @param maxBytes - of all bytes that are read.
 * @returns `undefined` where the body has no such message.
 * @throws WalletError `fetch_failed` where the body is incomplete or larger, or where a message is beyond its limits and none
 *   answers.
 */
export async function readMessage(
  { headers, body }: Pick<OpenAnswer, 'headers' | 'body'>,
  id: number,
  maxBytes: number,
): Promise<JsonObject | undefined> {
  const isStream = /^text\/event-stream\b/i.test(headers['content-type'] ?? '');
  const texts = isStream ? events(bounded(body, maxBytes)) : whole(bounded(body, maxBytes));
  let isHeavy = false;
  for await (const text of texts) {
    const message = parse(text);
    // It may be a notification before the answer.
    if (message === 'heavy') isHeavy = true;
    else if (message?.['id'] === id && ('result' in message || 'error' in message)) return message;
  }
  if (isHeavy) throw tooHeavy();
  return undefined;
}

async function* bounded(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      throw new WalletError(
        'fetch_failed',
        `The answer of the MCP server is longer than ${maxBytes} bytes.`,
      );
    }
    yield chunk;
  }
}

async function* whole(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  yield new TextDecoder().decode(Buffer.concat(chunks));
}

/** The data of each event. */
async function* events(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let found: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => found.push(data) });
  const decoder = new TextDecoder();
  let isAfterReturn = false;
  for await (const chunk of body) {
    const text = decoder.decode(chunk, { stream: true });
    // A chunk may hold no complete character.
    if (text === '') continue;
    const rest = isAfterReturn && text.startsWith('\n') ? text.slice(1) : text;
    isAfterReturn = text.endsWith('\r');
    // Line ends are made equal first: the parser would wait for the LF after a CR, which may be in a chunk that never
    // comes, and would search each chunk for each kind at each line.
    parser.feed(rest.replaceAll(/\r\n?/g, '\n'));
    yield* found;
    found = [];
  }
}

function parse(text: string): JsonObject | 'heavy' | undefined {
  if (!isLightJson(text)) return 'heavy';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isWithinBounds(value, MESSAGE_BOUNDS)) return 'heavy';
  return isJsonObject(value) ? value : undefined;
}

function tooHeavy(): WalletError {
  return new WalletError(
    'fetch_failed',
    'The answer of the MCP server is nested too deep, or has too many values.',
  );
}
