import { cpus, totalmem } from 'node:os';
import { Controller, Get, Res, UseFilters } from '@nestjs/common';
import type { Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { RequireScope } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { HubErrorFilter } from '../wire/hub-error.filter.js';

/** The original's self-description; load balancers ask for it. */
@Controller('api')
@RequireScope('hub')
@UseFilters(HubErrorFilter)
export class ApiInfoController {
  constructor(private readonly config: AppConfig) {}

  @Get('info')
  info(@Res() response: Response): void {
    sendJson(response, 200, {
      ChainType: '',
      Type: 'hub',
      Name: this.config.hub.address,
      PublicKey: null,
      ExposeURL: '',
      Hardware: { CPU: cpus().length, Memory: totalmem() },
      OnChain: false,
      Revenue: null,
      Last: '0001-01-01T00:00:00Z',
    });
  }
}
