import {
  BadRequestException,
  Controller,
  Get,
  NotFoundException,
  Param,
  Query,
  Res,
  UseFilters,
  ValidationPipe,
} from '@nestjs/common';
import type { Response } from 'express';
import type { Address, Hex } from 'viem';
import { RateLimited } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { LookUpErrorFilter } from './look-up-error.filter.js';
import { SettlementQueryDto } from './settlement-query.dto.js';
import { StatusService } from './status.service.js';

/** What became of a settlement. Public: it says whether a payment landed, and never "success". */
@Controller('v2/settlements')
@RateLimited('lookup')
@UseFilters(LookUpErrorFilter)
export class SettlementsV2Controller {
  constructor(private readonly status: StatusService) {}

  @Get(':id')
  async byId(@Param('id') id: string, @Res() response: Response): Promise<void> {
    const status = /^[\w-]{43}$/.test(id) ? await this.status.byId(id) : undefined;
    if (status === undefined) throw new NotFoundException();
    sendJson(response, 200, status);
  }

  @Get()
  async search(
    @Query(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }))
    query: SettlementQueryDto,
    @Res() response: Response,
  ): Promise<void> {
    if (query.transaction !== undefined) {
      const hash = query.transaction.toLowerCase() as Hex;
      const settlements = await this.status.byTransaction(hash);
      if (settlements.length === 0) throw new NotFoundException();
      sendJson(response, 200, { settlements });
      return;
    }
    const { network, nonce } = query;
    const chainId = chainIdOf(network ?? '');
    const [asset, payer]: (Address | undefined)[] = [
      readAddress(query.asset),
      readAddress(query.payer),
    ];
    if (chainId === undefined || !asset || !payer || nonce === undefined) {
      throw new BadRequestException(
        'Either transaction, or network, asset, payer and nonce are expected.',
      );
    }
    const status = await this.status.byAuthorization({
      chainId,
      asset,
      payer,
      nonce: BigInt(nonce),
    });
    const isKnown = status.source === 'ledger' || status.used;
    sendJson(response, isKnown ? 200 : 404, status);
  }
}
