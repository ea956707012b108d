import type { ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { BadRequestException, ForbiddenException, NotFoundException } from '@nestjs/common';
import type { PinoLogger } from 'nestjs-pino';
import { ErrorFilter } from '../platform/http/error.filter.js';
import { LookUpErrorFilter } from '../platform/http/unavailable.filter.js';
import { RedisUnavailableError } from '../protocol/errors.js';
import { SettleErrorFilter, VerifyErrorFilter } from './x402-error.filter.js';

const logger = { error: () => undefined } as unknown as PinoLogger;

function answerOf(
  filter: ErrorFilter,
  error: unknown,
): { readonly status: number; readonly body: unknown } {
  let text = '';
  const response = {
    statusCode: 0,
    headersSent: false,
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
            fault: 'buyer',
            retry: 'new-payment',
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

  it('of other routes are plain', () => {
    expect(answerOf(new ErrorFilter(logger), new NotFoundException())).toEqual({
      status: 404,
      body: { error: 'There is nothing here.' },
    });
  });

  it('say 503 where a look-up cannot be asked, and 500 where nobody thought of it', () => {
    const away = new RedisUnavailableError('look', 'away');
    expect(answerOf(new LookUpErrorFilter(logger), away)).toEqual({
      status: 503,
      body: { error: 'This cannot be looked up now; ask again.' },
    });
    expect(answerOf(new ErrorFilter(logger), away).status).toBe(500);
  });
});
