import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import type { SettleAnswer } from './settle/settle-answer.js';
import { connectionOf, sendSettleAnswer } from './settle-response.js';

/** The client's side of a response: it may hang up before, while or after it is written to. */
class FakeResponse extends EventEmitter {
  readonly headers = new Map<string, unknown>();
  statusCode = 0;
  body = '';
  destroyed = false;
  writableFinished = false;
  socket: { writable: boolean; destroyed: boolean; errored: Error | null } | null = {
    writable: true,
    destroyed: false,
    errored: null,
  };

  setHeader(name: string, value: unknown): this {
    this.headers.set(name.toLowerCase(), value);
    return this;
  }

  writeHead(status: number, headers: Readonly<Record<string, unknown>> = {}): this {
    this.statusCode = status;
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
    return this;
  }

  end(text: unknown): this {
    this.body = String(text);
    return this;
  }

  get asResponse(): ServerResponse {
    return this as unknown as ServerResponse;
  }
}

const anAnswer = (overrides: Partial<SettleAnswer> = {}): SettleAnswer => ({
  status: 200,
  body: { success: true, transaction: '0x1', network: 'bsc' },
  settlementId: 'claim',
  finality: 'included',
  ...overrides,
});

describe('an answer that sells', () => {
  const sell = (change: (response: FakeResponse) => void = () => undefined) => {
    const response = new FakeResponse();
    change(response);
    let takenBack = 0;
    const rollBack = (): Promise<void> => {
      takenBack += 1;
      return Promise.resolve();
    };
    sendSettleAnswer(response.asResponse, anAnswer({ rollBack }));
    return { response, count: () => takenBack };
  };

  it('stays sold once its last byte was handed over', () => {
    const { response, count } = sell();
    response.emit('finish');
    // Its client may go between the two.
    if (response.socket !== null) response.socket.destroyed = true;
    response.emit('close');
    expect([count(), response.body.includes('"success":true')]).toEqual([0, true]);
  });

  it('is taken back when the client hangs up before that', () => {
    const { response, count } = sell();
    response.emit('close');
    expect(count()).toBe(1);
  });

  // Node 20 finishes what waits when its connection breaks.
  it('is taken back when its connection broke while it waited to be read', () => {
    const { response, count } = sell();
    const { socket } = response;
    if (socket !== null) socket.destroyed = true;
    response.emit('finish');
    response.emit('close');
    expect(count()).toBe(1);
  });

  it.each<[string, (response: FakeResponse) => void]>([
    ['is destroyed', (response) => (response.destroyed = true)],
    ['has no socket', (response) => (response.socket = null)],
    [
      'cannot be written to',
      (response) => (response.socket = { writable: false, destroyed: false, errored: null }),
    ],
  ])('is taken back, and not said, when the response %s', (_, change) => {
    const { response, count } = sell(change);
    expect([count(), response.body, response.headers.size]).toEqual([1, '', 0]);
  });
});

describe('the headers of an answer', () => {
  const headersOf = (answer: SettleAnswer): ReadonlyMap<string, unknown> => {
    const response = new FakeResponse();
    sendSettleAnswer(response.asResponse, answer);
    return response.headers;
  };

  it('name the claim, the finality, and when to come again', () => {
    const headers = headersOf(anAnswer({ retryAfterSeconds: 9 }));
    expect(
      ['settlement-id', 'settle-finality', 'retry-after'].map((one) => headers.get(one)),
    ).toEqual(['claim', 'included', 9]);
    expect(headers.has('location')).toBe(false);
  });

  it('of a 202 say where to look it up', () => {
    const headers = headersOf(anAnswer({ status: 202 }));
    expect(headers.get('location')).toBe('/v2/settlements/claim');
    expect(headers.get('preference-applied')).toBe('respond-async');
  });

  it('name no claim where none was made', () => {
    expect(headersOf(anAnswer({ settlementId: undefined })).has('settlement-id')).toBe(false);
  });
});

describe('the connection of a requester', () => {
  it('is closed for who asks after its client has hung up', async () => {
    const response = new FakeResponse();
    response.destroyed = true;
    await expect(connectionOf(response.asResponse).closed).resolves.toBeUndefined();
  });

  it('is closed when its client hangs up, not when it was answered', async () => {
    const [answered, hungUp] = [new FakeResponse(), new FakeResponse()];
    const first = Promise.race([
      connectionOf(answered.asResponse).closed.then(() => 'answered'),
      connectionOf(hungUp.asResponse).closed.then(() => 'hung up'),
    ]);
    answered.writableFinished = true;
    answered.emit('close');
    await Promise.resolve();
    hungUp.emit('close');
    expect(await first).toBe('hung up');
  });

  it('is writable as long as its socket is', () => {
    const response = new FakeResponse();
    const connection = connectionOf(response.asResponse);
    expect(connection.isWritable).toBe(true);
    response.socket = { writable: false, destroyed: false, errored: null };
    expect(connection.isWritable).toBe(false);
  });
});
