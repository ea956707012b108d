import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Controller, Get, NotFoundException, Param, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { PinoLogger } from 'nestjs-pino';
import { callerOf, payeesOf, RateLimited } from '../../platform/http/access.js';
import { CodedError } from '../../platform/http/coded-error.js';
import { sendJson } from '../../platform/http/json.js';
import { NO_SUCH_SETTLEMENT } from '../../platform/http/settlement-id.pipe.js';
import { LookUpErrorFilter } from '../../platform/http/unavailable.filter.js';
import { isSettlementId } from '../../protocol/payment/wire-values.js';
import { ArchiveError } from '../archive.js';
import { type Export, Exports } from '../export/exports.js';
import { Receipts } from '../receipts/receipts.js';
import { TotalsOfSellers } from './settlement-totals.js';

/** A client that takes nothing of its file for this long is given up: what waits for it is memory. */
const SILENCE_MS = 30_000;
const BUSY_RETRY_SECONDS = 30;

/** What sellers have of their own settlements, with an API key that names their payees. */
@Controller('v2/settlements')
@RateLimited('lookup')
@UseFilters(LookUpErrorFilter)
export class SellersV2Controller {
  constructor(
    private readonly receipts: Receipts,
    private readonly sums: TotalsOfSellers,
    private readonly exports: Exports,
    private readonly logger: PinoLogger,
  ) {}

  @Get('totals')
  async totals(@Req() request: Request, @Res() response: Response): Promise<void> {
    const payees = payeesOf(request, response);
    sendJson(response, 200, await this.sums.of(request.query, payees));
  }

  @Get('export')
  async export(@Req() request: Request, @Res() response: Response): Promise<void> {
    const payees = payeesOf(request, response);
    try {
      await this.exports.run(callerOf(request) ?? '', request.query, payees, (one) =>
        this.#send(one, request, response),
      );
    } catch (error) {
      if (error instanceof CodedError && error.status === 429) {
        response.setHeader('Retry-After', BUSY_RETRY_SECONDS);
      }
      throw error;
    }
  }

  @Get(':id/receipt')
  async receipt(
    @Param('id') id: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const payees = payeesOf(request, response);
    const receipt = isSettlementId(id) ? await this.receipts.of(id, payees) : undefined;
    if (receipt === undefined) throw new NotFoundException(NO_SUCH_SETTLEMENT);
    sendJson(response, 200, receipt);
  }

  /** A file that cannot be finished is broken off, never ended: the client has to see that it is not whole. */
  async #send(one: Export, request: Request, response: Response): Promise<void> {
    response.setHeader('Content-Type', one.contentType);
    response.setHeader('Content-Disposition', `attachment; filename="${one.fileName}"`);
    response.setHeader('Cache-Control', 'no-store');
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    response.setTimeout(SILENCE_MS, () => {
      response.destroy();
    });
    try {
      await pipeline(Readable.from(one.bytes, { objectMode: false }), response);
    } catch (error) {
      response.destroy();
      // A client that leaves is no trouble of ours.
      if (isLeft(error)) return;
      const trouble = error instanceof ArchiveError ? error.trouble : undefined;
      this.logger.error({ trouble, err: error }, 'an export to a seller was interrupted');
    }
  }
}

function isLeft(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET' || code === 'EPIPE';
}
