import { describe, expect, it } from '@jest/globals';
import { readMessage } from './message-stream.js';

const MAX = 262_144;
const wanted = { jsonrpc: '2.0', id: 2, result: { ok: true } };

async function* sent(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) {
    await Promise.resolve();
    yield bytes.subarray(at, at + size);
  }
}

const read = (type: string, text: string, size = 1000) =>
  readMessage({ headers: { 'content-type': type }, body: sent(text, size) }, 2, MAX);
const STREAM = 'text/event-stream; charset=utf-8';

describe('the message that answers a request', () => {
  it('is the body, where that is JSON', async () => {
    expect(await read('application/json', JSON.stringify(wanted))).toEqual(wanted);
  });

  it.each([1, 3, 1000])('is one of the events of a stream, in chunks of %s bytes', async (size) => {
    const note = { jsonrpc: '2.0', method: 'notifications/progress', params: { ü: '→' } };
    const text =
      `: hello\r\nevent: message\r\ndata: ${JSON.stringify(note)}\r\n\r\n` +
      `id: 7\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n` +
      `data: {"jsonrpc":"2.0",\ndata:"id":2,"result":{"ok":true}}\n\n` +
      `data: {"id":2,"result":"second"}\n\n`;
    expect(await read(STREAM, text, size)).toEqual(wanted);
  });

  describe.each([1, 2, 3, 1000])('in chunks of %s bytes', (size) => {
    const event = [
      'event: message',
      'data: {"jsonrpc":"2.0",',
      'data:"id":2,',
      'data',
      'data: "result":{"ok":true}}',
    ];

    it.each([
      ['LF', '\n'],
      ['CR LF', '\r\n'],
      ['CR alone', '\r'],
    ])('is found where lines end with %s', async (_, end) => {
      const note = `data: {"id":1,"result":{}}${end}${end}`;
      expect(await read(STREAM, `${note}${event.join(end)}${end}${end}`, size)).toEqual(wanted);
    });

    it('is found behind a byte order mark', async () => {
      expect(await read(STREAM, `\uFEFF${event.join('\n')}\n\n`, size)).toEqual(wanted);
      expect(await read('application/json', `\uFEFF${JSON.stringify(wanted)}`, size)).toEqual(
        wanted,
      );
    });

    it('is complete at its empty line, and two endings of one kind are two', async () => {
      expect(await read(STREAM, `${event.join('\r\n')}\r\n`, size)).toBeUndefined();
      expect(await read(STREAM, `data: {\r\rdata: "id":2,"result":1}\r\r`, size)).toBeUndefined();
    });
  });

  it('is not kept waiting for the LF of a CR that has ended it', async () => {
    async function* endless(): AsyncGenerator<Buffer> {
      yield Buffer.from(`data: ${JSON.stringify(wanted)}\r\r`);
      await new Promise(() => undefined);
    }
    const body = endless();
    expect(await readMessage({ headers: { 'content-type': STREAM }, body }, 2, MAX)).toEqual(
      wanted,
    );
  });

  it('ends the reading: what comes after it is not waited for', async () => {
    async function* endless(): AsyncGenerator<Buffer> {
      yield Buffer.from(`data: ${JSON.stringify(wanted)}\n\n`);
      await new Promise(() => undefined);
    }
    const body = endless();
    expect(await readMessage({ headers: { 'content-type': STREAM }, body }, 2, MAX)).toEqual(
      wanted,
    );
  });

  it.each([
    ['nothing', ''],
    ['no JSON', '<html>'],
    ['a list', `[${JSON.stringify(wanted)}]`],
    ['another answer', '{"id":3,"result":{}}'],
    ['a request', '{"id":2,"method":"ping"}'],
  ])('is not found in %s', async (_, text) => {
    expect(await read('application/json', text)).toBeUndefined();
    expect(await read(STREAM, `data: ${text}\n\n`)).toBeUndefined();
  });

  it.each([
    ['lists', `[${'[],'.repeat(20_000)}[]]`],
    ['fields', `{${Array.from({ length: 20_001 }, (_, at) => `"${at}":1`).join(',')}}`],
    ['levels', `${'['.repeat(40)}${']'.repeat(40)}`],
  ])('is refused for its cause where it has too many %s', async (_, result) => {
    const text = `{"id":2,"result":${result}}`;
    const cause = 'The answer of the MCP server is nested too deep, or has too many values.';
    await expect(read('application/json', text)).rejects.toThrow(cause);
    await expect(read(STREAM, `data: ${text}\n\n`)).rejects.toThrow(cause);
  });

  it('is found behind an event that is beyond its limits', async () => {
    const note = `{"method":"notifications/progress","params":${'['.repeat(40)}${']'.repeat(40)}}`;
    const text = `data: ${note}\n\ndata: ${JSON.stringify(wanted)}\n\n`;
    expect(await read(STREAM, text)).toEqual(wanted);
  });

  it('is not looked for behind more bytes than are read', async () => {
    const long = `: ${'x'.repeat(MAX)}\n\ndata: ${JSON.stringify(wanted)}\n\n`;
    await expect(read(STREAM, long)).rejects.toThrow(`longer than ${MAX} bytes`);
    await expect(read('application/json', long)).rejects.toThrow(`longer than ${MAX} bytes`);
  });
});
