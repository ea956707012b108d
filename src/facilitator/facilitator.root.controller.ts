import { Controller } from '@nestjs/common';
import { FacilitatorController } from './facilitator.controller.js';
import type { Versions } from './facilitator.service.js';

/** Both versions, by the payload's own `x402Version`: for clients that are given the bare URL. */
@Controller()
export class FacilitatorRootController extends FacilitatorController {
  protected readonly versions: Versions = [1, 2];
}
