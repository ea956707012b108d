import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { sendJson } from '../../platform/http/json.js';
import { receiptsOff } from '../sellers/history-problems.js';
import { Receipts } from './receipts.js';

/** RFC 7517: the keys by which receipts are verified. Public: it is for whoever was shown a receipt. */
@Controller('.well-known/jwks.json')
export class ReceiptKeysController {
  constructor(private readonly receipts: Receipts) {}

  @Get()
  keys(@Res() response: Response): void {
    const { keys } = this.receipts;
    if (keys === undefined) throw receiptsOff(404);
    response.setHeader('Cache-Control', 'public, max-age=300');
    sendJson(response, 200, keys);
  }
}
