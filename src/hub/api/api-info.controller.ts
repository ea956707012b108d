import { cpus, totalmem } from 'node:os';
import { Controller, Get, UseFilters } from '@nestjs/common';
import { AppConfig } from '../../platform/config/app-config.js';
import { RequireScope } from '../../platform/http/access.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { Describes } from '../hub.openapi.js';
import { HubErrorFilter } from '../wire/hub-error.filter.js';
import { HubInfo } from './hub.response.js';

/** The original's self-description; load balancers ask for it. */
@Controller(['api', 'v1'])
@RequireScope('hub')
@UseFilters(HubErrorFilter)
export class ApiInfoController {
  constructor(private readonly config: AppConfig) {}

  @Get('info')
  @Describes('hubInfo', 'Facts about this hub.', {
    hasNoOwner: true,
    answer: jsonAnswer('The facts, with the fields of the original hub.', HubInfo),
  })
  info(): object {
    return {
      ChainType: '',
      Type: 'hub',
      Name: this.config.hub.address,
      PublicKey: null,
      ExposeURL: '',
      // Texts, because the Go client reads only texts.
      Hardware: { CPU: String(cpus().length), Memory: String(totalmem()) },
      OnChain: false,
      Revenue: null,
      Last: '0001-01-01T00:00:00Z',
    };
  }
}
