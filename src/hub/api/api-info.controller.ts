import { cpus, totalmem } from 'node:os';
import { Controller, Get, UseFilters } from '@nestjs/common';
import { AppConfig } from '../../platform/config/app-config.js';
import { RequireScope } from '../../platform/http/access.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { Describes } from '../hub.openapi.js';
import { HubErrorFilter } from '../wire/hub-error.filter.js';

/** The original's self-description; load balancers ask for it. */
@Controller(['api', 'v1'])
@RequireScope('hub')
@UseFilters(HubErrorFilter)
export class ApiInfoController {
  constructor(private readonly config: AppConfig) {}

  @Get('info')
  @Describes('hubInfo', 'What this is.', {
    hasNoOwner: true,
    answer: jsonAnswer('The fields of the original.', 'HubInfo'),
  })
  info(): object {
    return {
      ChainType: '',
      Type: 'hub',
      Name: this.config.hub.address,
      PublicKey: null,
      ExposeURL: '',
      // Texts: the Go client reads nothing else.
      Hardware: { CPU: String(cpus().length), Memory: String(totalmem()) },
      OnChain: false,
      Revenue: null,
      Last: '0001-01-01T00:00:00Z',
    };
  }
}
