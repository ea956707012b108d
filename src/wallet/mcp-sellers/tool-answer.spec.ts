import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../protocol/payment/wire-values.js';
import { toolAnswer } from './tool-answer.js';

const URL = 'http://seller.example/mcp';
const demand = { x402Version: 2, accepts: [{ scheme: 'exact' }] };
const content = [{ type: 'text', text: 'Rain.' }];
const receipt = { success: true, transaction: '0x1' };
const failed = { success: false, errorReason: 'settlement_pending' };
const META = 'x402/payment-response';

function read(message: JsonObject): {
  readonly status: number;
  readonly demand: unknown;
  readonly receipt: unknown;
  readonly body: unknown;
} {
  const { status, headers, body } = toolAnswer(URL, message);
  const decoded = (name: string): unknown => {
    const value = headers[name];
    return value && (JSON.parse(Buffer.from(value, 'base64').toString()) as unknown);
  };
  return {
    status,
    demand: decoded('payment-required'),
    receipt: decoded('payment-response'),
    body: JSON.parse(body.toString()) as unknown,
  };
}

describe('what a tool answered', () => {
  it.each<readonly [string, JsonObject, number, ...(readonly unknown[])]>([
    ['a result', { result: { content } }, 200, undefined, undefined],
    ['a result that was paid for', paid({ content }, receipt), 200, undefined, receipt],
    ['a demand as data', { result: { isError: true, structuredContent: demand } }, 402, demand],
    ['a demand as text', { result: { isError: true, content: [asText(demand)] } }, 402, demand],
    ['a demand as an error', { error: { code: 402, data: demand } }, 402, demand],
    ['a demand as the other error', { error: { code: -32_042, data: demand } }, 402, demand],
    ['offers in a result without an error', { result: { structuredContent: demand } }, 200],
    ['a demand in another error', { error: { code: -1, data: demand } }, 400],
    ['a result beside a failed settlement', paid({ content }, failed), 402, undefined, failed],
    ['an error of the tool', { result: { isError: true, content } }, 500],
    ['an error of a tool that was paid', paid({ isError: true }, receipt), 500, undefined, receipt],
    ['an error of the protocol', { error: { code: -32_603, data: { a: 1 } } }, 400],
    ['an error that was paid for', errorOf({ [META]: receipt }), 400, undefined, receipt],
    ['the same, told beside', errorOf({ _meta: { [META]: receipt } }), 400, undefined, receipt],
    ['an error by a failed settlement', errorOf({ [META]: failed }), 400, undefined, failed],
    [
      'a demand by a failed settlement',
      { error: { code: 402, data: { ...demand, [META]: failed } } },
      402,
      { ...demand, [META]: failed },
      failed,
    ],
  ])('is said in the terms of HTTP: %s', (_, message, status, ...[required, settled]) => {
    expect(read(message)).toMatchObject({ status, demand: required, receipt: settled });
  });

  it('has the receipt of a settlement that failed from within the demand', () => {
    const both = { ...demand, [META]: failed };
    const { status, receipt: settled } = read({
      result: { isError: true, structuredContent: both },
    });
    expect([status, settled]).toEqual([402, failed]);
  });

  it('is no demand where its text is deeper than any demand', () => {
    const deep = `{"x402Version":2,"accepts":[],"x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    const result = { isError: true, content: [{ type: 'text', text: deep }] };
    expect(read({ result }).status).toBe(500);
  });

  it('shows content and data, and nothing else', () => {
    const result = { content, structuredContent: { a: 1 }, _meta: { [META]: receipt }, more: 1 };
    expect(read({ result }).body).toEqual({ content, structuredContent: { a: 1 } });
  });

  it.each<readonly [string, JsonObject]>([
    ['no result', {}],
    ['a plain value', { result: 'Rain.' }],
    ['a question', { result: { resultType: 'input_required', inputRequests: {} } }],
  ])('is not accepted where it is %s', (_, message) => {
    expect(() => toolAnswer(URL, message)).toThrow('The answer of the MCP server');
  });
});

function paid(result: JsonObject, settled: JsonObject): JsonObject {
  return { result: { ...result, _meta: { [META]: settled } } };
}

function errorOf(data: JsonObject): JsonObject {
  return { error: { code: -32_603, message: 'It broke.', data } };
}

function asText(value: unknown): JsonObject {
  return { type: 'text', text: JSON.stringify(value) };
}
