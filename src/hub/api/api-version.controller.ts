import { Controller, Get, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RequireScope } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { HubAccess } from '../auth/hub-access.service.js';
import { HubListing } from '../index/hub-listing.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { readFormFields, textOf } from '../wire/fields.js';
import { HubErrorFilter } from '../wire/hub-error.filter.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { versionRows } from './lists.js';

/** What a name stood for before. Not part of the original, which keeps the newest alone. */
@Controller('api')
@RequireScope('hub')
@UseFilters(HubErrorFilter)
export class ApiVersionController {
  constructor(
    private readonly listing: HubListing,
    private readonly access: HubAccess,
    private readonly limits: HubLimits,
  ) {}

  @Get('versions')
  async versions(@Req() request: Request, @Res() response: Response): Promise<void> {
    await this.limits.takeAddress(request, response);
    const caller = await this.access.callerOf(request, 'read');
    caller.assertBody(Buffer.alloc(0));
    await this.limits.takeSigner(caller, response);
    const fields = readFormFields(Buffer.alloc(0), request.query);
    const owner = caller.ownerOfRead(textOf(fields, 'owner'));
    const id = textOf(fields, 'name') || textOf(fields, 'id');
    if (owner === '') throw HubRefusal.malformed('owner is required');
    const rows = await versionRows(this.listing, { owner, id });
    if (rows.length === 0) throw HubRefusal.notFound(`no such file: ${id} at ${owner}`);
    sendJson(response, 200, rows);
  }
}
