import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  Controller,
  Get,
  NotFoundException,
  Param,
  Query,
  Req,
  Res,
  UseFilters,
} from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { PinoLogger } from 'nestjs-pino';
import type { Address } from 'viem';
import { callerOf, Payees, RateLimited } from '../../platform/http/access.js';
import { CodedError } from '../../platform/http/coded-error.js';
import { jsonAnswer, problem, RATE } from '../../platform/http/openapi.js';
import { NO_SUCH_SETTLEMENT, SettlementIdPipe } from '../../platform/http/settlement-id.pipe.js';
import { LookUpErrorFilter } from '../../platform/http/unavailable.filter.js';
import { SETTLEMENT_ID_SCHEMA } from '../../protocol/payment/wire-schemas.js';
import { ArchiveError } from '../archive.js';
import { type Export, Exports } from '../export/exports.js';
import type { SignedReceipt } from '../receipts/dto/receipt.response.js';
import { Receipts } from '../receipts/receipts.js';
import { ExportQueryDto, TotalsQueryDto } from './dto/settlement-filter.dto.js';
import { SettlementTotals } from './dto/settlement-totals.response.js';
import { Describes, FILE, NO_ARCHIVE, RECEIPT_ANSWERS } from './sellers.openapi.js';
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
  @Describes(
    'settlementTotals',
    'Exact sums of the payments to the payees of an API key',
    {
      200: jsonAnswer('The sums.', SettlementTotals, undefined, RATE),
      400: problem('An unknown or malformed parameter, or too many groups.', {
        error: 'from must be before to.',
        code: 'invalid_query',
      }),
      ...NO_ARCHIVE,
    },
    'Amounts of two assets are never added: every group is of one asset.',
  )
  totals(
    @Query() query: TotalsQueryDto,
    @Payees() payees: ReadonlySet<Address>,
  ): Promise<SettlementTotals> {
    return this.sums.of(query, payees);
  }

  @Get('export')
  @Describes(
    'exportSettlements',
    'A file of the payments to the payees of an API key',
    {
      200: FILE,
      400: problem('An unknown or malformed parameter.', {
        error: 'format must be one of csv, ndjson.',
        code: 'invalid_query',
      }),
      ...NO_ARCHIVE,
    },
    'Newest first. A file that could not be finished is broken off, never ended.',
  )
  async export(
    @Query() query: ExportQueryDto,
    @Payees() payees: ReadonlySet<Address>,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    try {
      await this.exports.run(callerOf(request) ?? '', query, payees, (one) =>
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
  @ApiParam({
    name: 'id',
    description: 'From the header `Settlement-Id`, or from a list.',
    schema: SETTLEMENT_ID_SCHEMA,
  })
  @Describes(
    'receipt',
    'A signed receipt of a settlement',
    RECEIPT_ANSWERS,
    'Only of what is at least in a block; `finality` says how certain it was when it was signed.',
  )
  async receipt(
    @Param('id', SettlementIdPipe) id: string,
    @Payees() payees: ReadonlySet<Address>,
  ): Promise<SignedReceipt> {
    const receipt = await this.receipts.of(id, payees);
    if (receipt === undefined) throw new NotFoundException(NO_SUCH_SETTLEMENT);
    return receipt;
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
      // A client that disconnects is no error of this service.
      if (isLeft(error)) return;
      const trouble = error instanceof ArchiveError ? error.condition : undefined;
      this.logger.error({ trouble, err: error }, 'an export to a seller was interrupted');
    }
  }
}

function isLeft(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET' || code === 'EPIPE';
}
