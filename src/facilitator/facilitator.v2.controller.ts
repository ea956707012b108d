import { Controller } from '@nestjs/common';
import { FacilitatorController } from './facilitator.controller.js';
import type { Versions } from './facilitator.service.js';

/** x402 V2. */
@Controller('v2')
export class FacilitatorV2Controller extends FacilitatorController {
  protected readonly versions: Versions = [2];
}
