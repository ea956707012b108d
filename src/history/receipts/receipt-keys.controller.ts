import { Controller, Get } from '@nestjs/common';
import { Answer } from '../../platform/http/answer.js';
import { describing, jsonAnswer, OPEN, problemOf } from '../../platform/http/openapi.js';
import { receiptsOff } from '../sellers/history-problems.js';
import { ReceiptKeys } from './dto/receipt.response.js';
import { Receipts } from './receipts.js';

const Describes = describing({ tag: 'History', security: OPEN });

/** The keys that verify receipts, as a JWK set (RFC 7517). Public, because a receipt may be shown to anyone. */
@Controller('.well-known/jwks.json')
export class ReceiptKeysController {
  constructor(private readonly receipts: Receipts) {}

  @Get()
  @Describes('receiptKeys', 'The keys that verify receipts (RFC 7517)', {
    200: jsonAnswer('The keys.', ReceiptKeys),
    404: problemOf('Receipts are off.', receiptsOff(404)),
  })
  keys(): Answer<ReceiptKeys> {
    const { keys } = this.receipts;
    if (keys === undefined) throw receiptsOff(404);
    return new Answer(keys, { 'Cache-Control': 'public, max-age=300' });
  }
}
