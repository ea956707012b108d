import { Controller, Delete, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RequireScope } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { HubAccess } from '../auth/hub-access.service.js';
import { HubService } from '../hub.service.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { FORM_MAX_BYTES, readBody } from '../wire/body-reader.js';
import { type Fields, readFormFields, textOf } from '../wire/fields.js';
import { HubErrorFilter } from '../wire/hub-error.filter.js';
import { HubRefusal } from '../wire/hub-refusal.js';

/** Not part of the original, which cannot remove anything. */
@Controller('api')
@RequireScope('hub')
@UseFilters(HubErrorFilter)
export class ApiObjectController {
  constructor(
    private readonly hub: HubService,
    private readonly access: HubAccess,
    private readonly limits: HubLimits,
  ) {}

  /** Gives a name up: `?owner=&name=`. */
  @Delete('object')
  async remove(@Req() request: Request, @Res() response: Response): Promise<void> {
    await this.limits.takeAddress(request, response);
    const caller = await this.access.callerOf(request, 'remove');
    const body = await readBody(request, FORM_MAX_BYTES);
    caller.assertBody(body);
    const fields: Fields = readFormFields(body, request.query);
    const owner = caller.ownerOfRead(textOf(fields, 'owner'));
    await this.limits.takeSigner(caller, response);
    const id = textOf(fields, 'name') || textOf(fields, 'id');
    if (id === '') throw HubRefusal.malformed('name is required');
    await this.hub.remove({ owner, id });
    sendJson(response, 200, { Owner: owner, Name: id });
  }
}
