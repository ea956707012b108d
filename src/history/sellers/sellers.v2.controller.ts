import { Controller, Get, NotFoundException, Param, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { payeesOf, RateLimited } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { Receipts } from '../receipts/receipts.js';
import { HistoryErrorFilter } from './history-error.filter.js';
import { TotalsOfSellers } from './settlement-totals.js';

/** What sellers have of their own settlements, with an API key that names their payees. */
@Controller('v2/settlements')
@RateLimited('lookup')
@UseFilters(HistoryErrorFilter)
export class SellersV2Controller {
  constructor(
    private readonly receipts: Receipts,
    private readonly sums: TotalsOfSellers,
  ) {}

  @Get('totals')
  async totals(@Req() request: Request, @Res() response: Response): Promise<void> {
    const payees = payeesOf(request, response);
    sendJson(response, 200, await this.sums.of(request.query, payees));
  }

  @Get(':id/receipt')
  async receipt(
    @Param('id') id: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const payees = payeesOf(request, response);
    const receipt = /^[\w-]{43}$/.test(id) ? await this.receipts.of(id, payees) : undefined;
    if (receipt === undefined) throw new NotFoundException();
    sendJson(response, 200, receipt);
  }
}
