import { Controller, Get, Query, UseFilters } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { RateLimited } from '../../platform/http/access.js';
import { Answers, jsonAnswer, OPEN, problem, RATE, TOO_MANY } from '../../platform/http/openapi.js';
import { IgnoresUnknown } from '../../platform/http/request.pipe.js';
import { LookUpErrorFilter } from '../../platform/http/unavailable.filter.js';
import { IsCaip2 } from '../../platform/http/validators.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import { AssetDirectory } from './asset-directory.js';
import type { AssetView } from './asset-view.js';
import { EXAMPLE } from './assets.openapi.js';

@IgnoresUnknown()
class AssetsQueryDto {
  @IsCaip2({ optional: true, description: 'Of one network only.' })
  readonly network?: string;
}

/** The tokens this deployment knows. Public; a request reads no chain. */
@Controller('v2/assets')
@RateLimited('lookup')
@UseFilters(LookUpErrorFilter)
export class AssetsV2Controller {
  constructor(private readonly directory: AssetDirectory) {}

  @Get()
  @ApiOperation({
    operationId: 'assets',
    tags: ['Look-ups'],
    summary: 'Tokens this deployment knows, with their facts on the chain',
    description:
      'Built-in tokens and those that settings name. They are read from the chain in the background: ' +
      'until then `source` is not `chain`. Other tokens are served too, unless settings say otherwise.',
    security: OPEN,
  })
  @Answers({
    200: jsonAnswer('The tokens.', 'Assets', EXAMPLE, RATE),
    400: problem('Not the CAIP-2 name of an EVM chain.', {
      error: 'network must be a CAIP-2 name of an EVM chain.',
      code: 'invalid_query',
    }),
    429: TOO_MANY,
  })
  list(@Query() { network }: AssetsQueryDto): { readonly assets: readonly AssetView[] } {
    const chainId = network === undefined ? undefined : chainIdOf(network);
    return { assets: this.directory.list(chainId) };
  }
}
