import { Controller } from '@nestjs/common';
import { FacilitatorController } from './facilitator.controller.js';
import type { Versions } from './facilitator.service.js';

/** Serves both versions, by the payload's `x402Version`, for clients that were given the URL without a version. */
@Controller()
export class FacilitatorRootController extends FacilitatorController {
  protected readonly versions: Versions = [1, 2];
}
