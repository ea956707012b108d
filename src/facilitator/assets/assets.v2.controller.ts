import { Controller, Get, Query, UseFilters } from '@nestjs/common';
import { RateLimited } from '../../platform/http/access.js';
import {
  describing,
  jsonAnswer,
  OPEN,
  problem,
  RATE,
  TOO_MANY,
} from '../../platform/http/openapi.js';
import { LookUpErrorFilter } from '../../platform/http/unavailable.filter.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import { AssetDirectory } from './asset-directory.js';
import { Assets } from './dto/asset.response.js';
import { AssetsQueryDto } from './dto/assets-query.dto.js';

const Describes = describing({ tag: 'Look-ups', security: OPEN }, { 429: TOO_MANY });

/** The tokens this deployment knows. Public; a request reads no chain. */
@Controller('v2/assets')
@RateLimited('lookup')
@UseFilters(LookUpErrorFilter)
export class AssetsV2Controller {
  constructor(private readonly directory: AssetDirectory) {}

  @Get()
  @Describes(
    'assets',
    'Tokens this deployment knows, with their facts on the chain',
    {
      200: jsonAnswer(
        'The tokens.',
        Assets,
        {
          assets: [
            {
              network: 'eip155:56',
              asset: '0xcE24439F2D9C6a2289F741120FE202248B666666',
              symbol: 'U',
              decimals: 18,
              extra: { name: 'United Stables', version: '1' },
              eip3009: { vrs: 'yes', bytes: 'yes' },
              eip2612: 'no',
              methods: ['eip3009', 'permit2'],
              isDeployed: true,
              source: 'chain',
              readAt: '2026-11-22T08:00:00.000Z',
            },
          ],
        },
        RATE,
      ),
      400: problem('network is not the CAIP-2 name of an EVM chain.', {
        error: 'network must be a CAIP-2 name of an EVM chain.',
        code: 'invalid_query',
        path: 'network',
        expected: 'a CAIP-2 name of an EVM chain',
        got: 'text of 3 characters',
      }),
    },
    'Built-in tokens and those that settings name. They are read from the chain in the background: ' +
      'until then `source` is not `chain`. Other tokens are served too, unless settings say otherwise.',
  )
  list(@Query() { network }: AssetsQueryDto): Assets {
    const chainId = network === undefined ? undefined : chainIdOf(network);
    return { assets: this.directory.list(chainId) };
  }
}
