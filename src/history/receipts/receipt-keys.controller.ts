import { Controller, Get, Res } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import type { Response } from 'express';
import { Answers, jsonAnswer, OPEN, problem } from '../../platform/http/openapi.js';
import { receiptsOff } from '../sellers/history-problems.js';
import type { ReceiptKeys } from './receipt-signer.js';
import { Receipts } from './receipts.js';

/** RFC 7517: the keys by which receipts are verified. Public: a receipt may be shown to anybody. */
@Controller('.well-known/jwks.json')
export class ReceiptKeysController {
  constructor(private readonly receipts: Receipts) {}

  @Get()
  @ApiOperation({
    operationId: 'receiptKeys',
    tags: ['History'],
    summary: 'The keys that verify receipts (RFC 7517)',
    security: OPEN,
  })
  @Answers({
    200: jsonAnswer('The keys.', 'ReceiptKeys'),
    404: problem('Receipts are off: `RECEIPT_KEY` is not set.', {
      error: 'Receipts are off: `RECEIPT_KEY` is not set.',
      code: 'receipts_off',
    }),
  })
  keys(@Res({ passthrough: true }) response: Response): ReceiptKeys {
    const { keys } = this.receipts;
    if (keys === undefined) throw receiptsOff(404);
    response.setHeader('Cache-Control', 'public, max-age=300');
    return keys;
  }
}
