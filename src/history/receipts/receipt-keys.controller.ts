import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { describing, jsonAnswer, OPEN, problemOf } from '../../platform/http/openapi.js';
import { receiptsOff } from '../sellers/history-problems.js';
import { ReceiptKeys } from './dto/receipt.response.js';
import { Receipts } from './receipts.js';

const Describes = describing({ tag: 'History', security: OPEN });

/** RFC 7517: the keys by which receipts are verified. Public: a receipt may be shown to anybody. */
@Controller('.well-known/jwks.json')
export class ReceiptKeysController {
  constructor(private readonly receipts: Receipts) {}

  @Get()
  @Describes('receiptKeys', 'The keys that verify receipts (RFC 7517)', {
    200: jsonAnswer('The keys.', ReceiptKeys),
    404: problemOf('Receipts are off.', receiptsOff(404)),
  })
  keys(@Res({ passthrough: true }) response: Response): ReceiptKeys {
    const { keys } = this.receipts;
    if (keys === undefined) throw receiptsOff(404);
    response.setHeader('Cache-Control', 'public, max-age=300');
    return keys;
  }
}
