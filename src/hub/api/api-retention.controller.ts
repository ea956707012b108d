import { Controller, Get, Put, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { RequireScope } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { HubAccess } from '../auth/hub-access.service.js';
import { HubService } from '../hub.service.js';
import { HubListing } from '../index/hub-listing.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { FORM_MAX_BYTES, readBody } from '../wire/body-reader.js';
import { readFormFields, textOf } from '../wire/fields.js';
import { HubErrorFilter } from '../wire/hub-error.filter.js';
import { HubRefusal } from '../wire/hub-refusal.js';

/** For how long an owner's files can be found. Signed in the strict form, in whatever hub. */
@Controller('api')
@RequireScope('hub')
@UseFilters(HubErrorFilter)
export class ApiRetentionController {
  constructor(
    private readonly config: AppConfig,
    private readonly access: HubAccess,
    private readonly limits: HubLimits,
    private readonly listing: HubListing,
    private readonly hub: HubService,
  ) {}

  @Put('retention')
  async set(@Req() request: Request, @Res() response: Response): Promise<void> {
    await this.limits.takeAddress(request, response);
    const caller = await this.access.strictSignerOf(request);
    const body = await readBody(request, FORM_MAX_BYTES);
    caller.assertBody(body);
    await this.limits.takeSigner(caller, response);
    const fields = readFormFields(body, request.query);
    const owner = caller.ownerOfRead(textOf(fields, 'owner'));
    const days = this.#daysOf(fields.get('days'));
    await this.#assertKnown(owner);
    if ((await this.listing.retentionOf(owner)) !== days) await this.hub.setRetention(owner, days);
    sendJson(response, 200, { Owner: owner, Days: days });
  }

  @Get('retention')
  async of(@Req() request: Request, @Res() response: Response): Promise<void> {
    await this.limits.takeAddress(request, response);
    const caller = await this.access.strictSignerOf(request);
    caller.assertBody(Buffer.alloc(0));
    await this.limits.takeSigner(caller, response);
    const owner = caller.ownerOfRead(
      textOf(readFormFields(Buffer.alloc(0), request.query), 'owner'),
    );
    sendJson(response, 200, { Owner: owner, Days: await this.listing.retentionOf(owner) });
  }

  /** @throws HubRefusal */
  #daysOf(given: unknown): number {
    const { least, most } = this.config.hub.retentionDays;
    const days = typeof given === 'string' && /^\d{1,9}$/.test(given) ? Number(given) : given;
    const isCount = typeof days === 'number' && Number.isSafeInteger(days);
    if (isCount && (days === 0 || (days >= least && days <= most))) return days;
    throw HubRefusal.malformed(`days must be a number from ${least} to ${most}, or 0 for ever`);
  }

  /** What is noted is bounded by what is stored. */
  async #assertKnown(owner: string): Promise<void> {
    const { bytes } = await this.listing.usageOf(owner);
    if (bytes === 0) throw HubRefusal.notFound('this owner has stored nothing here');
  }
}
