import { Controller } from '@nestjs/common';
import { FacilitatorController } from './facilitator.controller.js';
import type { Versions } from './facilitator.service.js';

/** x402 V1. */
@Controller('v1')
export class FacilitatorV1Controller extends FacilitatorController {
  protected readonly versions: Versions = [1];
}
