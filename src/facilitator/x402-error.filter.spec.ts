import type { ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import {
  BadRequestException,
  ForbiddenException,
  NotFoundException,
  RequestTimeoutException,
  UnauthorizedException,
} from '@nestjs/common';
import type { PinoLogger } from 'nestjs-pino';
import type { AppConfig } from '../platform/config/app-config.js';
import { ScopeMissing } from '../platform/http/access.js';
import { invalidQuery } from '../platform/http/coded-error.js';
import { ErrorFilter } from '../platform/http/error.filter.js';
import { StatedProblem } from '../platform/http/stated-problem.js';
import { LookUpErrorFilter } from '../platform/http/unavailable.filter.js';
import { RedisUnavailableError } from '../protocol/errors.js';
import { SettleErrorFilter, VerifyErrorFilter } from './x402-error.filter.js';

const logger = { error: () => undefined } as unknown as PinoLogger;

function answerOf(
  filter: ErrorFilter,
  error: unknown,
  url = '/',
  headers: object = {},
): { readonly status: number; readonly body: unknown } {
  let text = '';
  const response = {
    statusCode: 0,
    headersSent: false,
    req: { url, headers },
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
      },
    });
  });

  it('say whether an API key is missing, unknown, or cannot exist', () => {
    const textWith = (headers: object, config?: object): string => {
      const filter = new ErrorFilter(logger, config as AppConfig | undefined);
      const { body } = answerOf(filter, new UnauthorizedException(), '/', headers);
      expect(body).toEqual({ error: expect.any(String), code: 'unauthorized' });
      return (body as { error: string }).error;
    };
    const withKeys = { access: { apiKeysFile: 'keys.json' } };
    expect(textWith({}, withKeys)).toContain('is required');
    expect(textWith({ 'x-api-key': 'x' }, withKeys)).toContain('does not know the API key');
    expect(textWith({ authorization: 'Bearer x' }, withKeys)).toContain(
      'does not know the API key',
    );
    expect(textWith({}, { access: {} })).toContain('`API_KEYS_FILE`');
  });

  it('name the place in a request that is about no payment', () => {
    const place = { path: 'limit', expected: 'a whole number, 1 to 50', got: '51' };
    expect(answerOf(new LookUpErrorFilter(logger), invalidQuery('limit is wrong.', place))).toEqual(
      {
        status: 400,
        body: { error: 'limit is wrong.', code: 'invalid_query', ...place },
      },
    );
  });

  it('say where a body is not a request, and that the seller can mend it', () => {
    const place = { path: 'body', expected: 'a JSON object', got: 'a list' };
    const error = new StatedProblem(400, 'invalid_payload', 'No request.', place);
    expect(answerOf(new SettleErrorFilter(logger), error).body).toMatchObject({
      errorReason: 'invalid_payload',
      extensions: { diagnosis: { ...place, fault: 'seller', retry: 'never' } },
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
      ['/stats', 'PUBLIC_STATS'],
      ['/.well-known/oauth-authorization-server', 'WALLET_OAUTH'],
    ] as const) {
      expect([url, codeOf(url)]).toEqual([
        url,
        { code: 'feature_off', error: expect.stringContaining(setting) },
      ]);
    }
  });

  it('name the role that a process lacks for what it does not serve', () => {
    const config = { hasRole: () => false, access: {} } as unknown as AppConfig;
    for (const url of ['/settle', '/v2/settlements/x', '/discovery/resources', '/v2/assets']) {
      const error = new NotFoundException(`Cannot GET ${url}`);
      expect([url, answerOf(new ErrorFilter(logger, config), error, url).body]).toEqual([
        url,
        { code: 'feature_off', error: expect.stringContaining('`ROLES` with `api`') },
      ]);
    }
  });

  it('of other routes are plain', () => {
    expect(answerOf(new ErrorFilter(logger), new NotFoundException())).toEqual({
      status: 404,
      body: {
        error: 'This service has no such path. GET /openapi.json lists all paths.',
        code: 'no_such_path',
      },
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
