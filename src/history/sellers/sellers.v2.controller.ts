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

/** A client that reads nothing for this long is disconnected, because its waiting data takes memory. */
const SILENCE_MS = 30_000;
const BUSY_RETRY_SECONDS = 30;

/** Settlements of sellers, by the payees of their API key. */
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
        error: '`from` must be before `to`.',
        code: 'invalid_query',
        path: 'from',
        expected: 'before `to`',
      }),
      ...NO_ARCHIVE,
    },
    'Each group has one asset: amounts of two assets are never added.',
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
        path: 'format',
        expected: 'one of csv, ndjson',
        got: 'text of 4 characters',
      }),
      ...NO_ARCHIVE,
    },
    'Newest first. If the file cannot be completed, the connection is closed without the end of the body.',
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
    description: 'The id in the header `Settlement-Id`, or in a list.',
    schema: SETTLEMENT_ID_SCHEMA,
  })
  @Describes(
    'receipt',
    'A signed receipt of a settlement',
    RECEIPT_ANSWERS,
    'Only for a payment in a block. `finality` is the finality of the payment when the receipt was signed.',
  )
  async receipt(
    @Param('id', SettlementIdPipe) id: string,
    @Payees() payees: ReadonlySet<Address>,
  ): Promise<SignedReceipt> {
    const receipt = await this.receipts.of(id, payees);
    if (receipt === undefined) throw new NotFoundException(NO_SUCH_SETTLEMENT);
    return receipt;
  }

  /**
   * If a file cannot be completed, the connection is closed without the end of the body, so that the client sees that
   * the file is incomplete.
   */
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
      // A client that disconnects is not an error of this service.
      if (isLeft(error)) return;
      const condition = error instanceof ArchiveError ? error.condition : undefined;
      this.logger.error(
        { trouble: condition, err: error },
        'an export to a seller was interrupted',
      );
    }
  }
}

function isLeft(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET' || code === 'EPIPE';
}
