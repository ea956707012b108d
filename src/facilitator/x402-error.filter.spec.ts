import type { ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import {
  BadRequestException,
  ForbiddenException,
  NotFoundException,
  RequestTimeoutException,
} from '@nestjs/common';
import type { PinoLogger } from 'nestjs-pino';
import type { AppConfig } from '../platform/config/app-config.js';
import { ScopeMissing } from '../platform/http/access.js';
import { ErrorFilter } from '../platform/http/error.filter.js';
import { LookUpErrorFilter } from '../platform/http/unavailable.filter.js';
import { RedisUnavailableError } from '../protocol/errors.js';
import { SettleErrorFilter, VerifyErrorFilter } from './x402-error.filter.js';

const logger = { error: () => undefined } as unknown as PinoLogger;

function answerOf(
  filter: ErrorFilter,
  error: unknown,
  url = '/',
): { readonly status: number; readonly body: unknown } {
  let text = '';
  const response = {
    statusCode: 0,
    headersSent: false,
    req: { url },
    setHeader: () => undefined,
    getHeader: () => undefined,
    end: (body: unknown) => {
      text = String(body);
    },
  };
  filter.answer(error, response as unknown as ServerResponse);
  return { status: response.statusCode, body: JSON.parse(text) as unknown };
}

describe('errors of routes', () => {
  it('of verify have the fields of a verdict', () => {
    expect(answerOf(new VerifyErrorFilter(logger), new BadRequestException('No.'))).toEqual({
      status: 400,
      body: {
        isValid: false,
        invalidReason: 'invalid_payload',
        invalidMessage: 'No.',
        payer: '',
        extensions: {
          diagnosis: {
            fault: 'seller',
            retry: 'never',
            docs: 'docs/errors.md#invalid_payload',
          },
        },
      },
    });
  });

  it('of settle have the fields of a settlement', () => {
    expect(answerOf(new SettleErrorFilter(logger), new ForbiddenException())).toMatchObject({
      status: 403,
      body: { success: false, errorReason: 'forbidden', transaction: '', network: '' },
    });
  });

  it('are not the buyer’s where this service failed', () => {
    const diagnosis = { fault: 'facilitator', retry: 'same' };
    expect(answerOf(new SettleErrorFilter(logger), new TypeError('x'))).toMatchObject({
      status: 500,
      body: { errorReason: 'unexpected_settle_error', extensions: { diagnosis } },
    });
    expect(answerOf(new VerifyErrorFilter(logger), new TypeError('x'))).toMatchObject({
      body: { invalidReason: 'unexpected_verify_error', extensions: { diagnosis } },
    });
  });

  it('say when the same request can succeed', () => {
    const retryOf = (error: Error): unknown => answerOf(new SettleErrorFilter(logger), error).body;
    expect(retryOf(new RequestTimeoutException())).toMatchObject({
      extensions: { diagnosis: { retry: 'same' } },
    });
    expect(retryOf(new NotFoundException('No settlement.'))).toMatchObject({
      extensions: { diagnosis: { retry: 'later' } },
    });
  });

  it('name the scope that an API key lacks', () => {
    expect(answerOf(new ErrorFilter(logger), new ScopeMissing('admin'))).toEqual({
      status: 403,
      body: {
        error: 'This API key does not have the scope `admin`.',
        code: 'forbidden',
        reason: 'forbidden',
      },
    });
  });

  it('tell an unknown settlement, a feature that is off and an unknown path apart', () => {
    const off = {
      hasRole: (role: string) => role === 'api',
      wallet: undefined,
      doctor: undefined,
      webhooks: undefined,
      access: {},
    } as unknown as AppConfig;
    const codeOf = (url: string, error: Error = new NotFoundException(`Cannot GET ${url}`)) =>
      answerOf(new ErrorFilter(logger, off), error, url).body as { code: string; error: string };
    expect(codeOf('/v2/settlements/x', new NotFoundException('No settlement.'))).toEqual({
      error: 'No settlement.',
      code: 'not_found',
    });
    expect(codeOf('/nowhere').code).toBe('no_such_path');
    expect(codeOf('/supported/nowhere').code).toBe('no_such_path');
    // The public port says nothing of what operators have.
    expect(codeOf('/admin').code).toBe('no_such_path');
    for (const [url, setting] of [
      ['/hub?x=1', 'ROLES'],
      ['/api/upload', 'ROLES'],
      ['/v1/wallets/me', 'ROLES'],
      ['/v2/doctor', 'DOCTOR'],
      ['/v2/webhooks/1', 'WEBHOOK_KEY'],
    ] as const) {
      expect([url, codeOf(url)]).toEqual([
        url,
        { code: 'feature_off', error: expect.stringContaining(setting) },
      ]);
    }
  });

  it('of other routes are plain', () => {
    expect(answerOf(new ErrorFilter(logger), new NotFoundException())).toEqual({
      status: 404,
      body: { error: 'No such path. GET /openapi.json lists them.', code: 'no_such_path' },
    });
  });

  it('answer 503 where a look-up is unavailable, and 500 on an unexpected error', () => {
    const away = new RedisUnavailableError('look', 'away');
    expect(answerOf(new LookUpErrorFilter(logger), away)).toEqual({
      status: 503,
      body: { error: 'The look-up is unavailable right now. Try again.', code: 'unavailable' },
    });
    expect(answerOf(new ErrorFilter(logger), away).status).toBe(500);
  });
});
