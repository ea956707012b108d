import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../../config/app-config.js';
import { RequireScope } from '../../http/access.js';
import { sendJson } from '../../http/json.js';
import { HubAccess } from '../auth/hub-access.service.js';
import { descriptorOf, HubService } from '../hub.service.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { readBody } from '../wire/body-reader.js';
import { isDisplayed } from '../wire/display.js';
import { type Fields, readFormFields, textOf } from '../wire/fields.js';
import { HubErrorFilter } from '../wire/hub-error.filter.js';
import { sendPayload } from '../wire/payload-response.js';

@Controller('api')
@RequireScope('hub')
@UseFilters(HubErrorFilter)
export class ApiDownloadController {
  constructor(
    private readonly config: AppConfig,
    private readonly hub: HubService,
    private readonly access: HubAccess,
    private readonly limits: HubLimits,
  ) {}

  /** HEAD, too. */
  @Get('download')
  download(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, Buffer.alloc(0));
  }

  @Post('download')
  @HttpCode(200)
  async downloadByForm(@Req() request: Request, @Res() response: Response): Promise<void> {
    const body = await readBody(request, this.config.hub.maxJsonBytes);
    await this.#answer(request, response, body);
  }

  async #answer(request: Request, response: Response, body: Buffer): Promise<void> {
    response.setHeader('Vary', 'Accept');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    await this.limits.takeAddress(request, response);
    const caller = await this.access.callerOf(request, 'read');
    caller.assertBody(body);
    const fields: Fields = readFormFields(body, request.query);
    const owner = caller.ownerOfRead(textOf(fields, 'owner'));
    await this.limits.takeOwner(owner, response);
    const id = textOf(fields, 'name') || textOf(fields, 'id');
    const object = await this.hub.find(owner === '' ? undefined : owner, id);
    const isDescriptor = isDisplayed({
      method: request.method,
      accept: request.headers.accept,
      display: textOf(fields, 'display'),
      download: textOf(fields, 'download'),
    });
    if (isDescriptor) sendJson(response, 200, descriptorOf(object));
    else {
      await sendPayload(request, response, object, (from, length) =>
        this.hub.read(object, from, length),
      );
    }
  }
}
