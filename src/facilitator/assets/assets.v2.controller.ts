import { BadRequestException, Controller, Get, Query, Res, UseFilters } from '@nestjs/common';
import type { Response } from 'express';
import { RateLimited } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { LookUpErrorFilter } from '../../platform/http/unavailable.filter.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import { AssetDirectory } from './asset-directory.js';

/** The tokens this deployment knows. Public; nobody is asked for it. */
@Controller('v2/assets')
@RateLimited('lookup')
@UseFilters(LookUpErrorFilter)
export class AssetsV2Controller {
  constructor(private readonly directory: AssetDirectory) {}

  @Get()
  list(@Query('network') network: unknown, @Res() response: Response): void {
    const chainId = typeof network === 'string' ? chainIdOf(network) : undefined;
    if (network !== undefined && chainId === undefined) {
      throw new BadRequestException('network must be a CAIP-2 name of an EVM chain');
    }
    sendJson(response, 200, { assets: this.directory.list(chainId) });
  }
}
