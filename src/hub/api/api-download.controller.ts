import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RequireScope } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { HubAccess } from '../auth/hub-access.service.js';
import { descriptorOf, HubService } from '../hub.service.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { FORM_MAX_BYTES, readBody } from '../wire/body-reader.js';
import { isDisplayed } from '../wire/display.js';
import { type Fields, readFormFields, textOf } from '../wire/fields.js';
import { HubErrorFilter } from '../wire/hub-error.filter.js';
import { sendPayload } from '../wire/payload-response.js';

/** Payloads that are sent in more than one go. */
const LONG_BYTES = 65_536;

@Controller('api')
@RequireScope('hub')
@UseFilters(HubErrorFilter)
export class ApiDownloadController {
  constructor(
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
    const body = await readBody(request, FORM_MAX_BYTES);
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
    await this.limits.takeSigner(caller, response);
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
      // Short ones are out of memory before the next request comes.
      const release = object.size > LONG_BYTES ? this.limits.takeStream(request) : () => undefined;
      try {
        await sendPayload(request, response, object, (from, length) =>
          this.hub.read(object, from, length),
        );
      } finally {
        release();
      }
    }
  }
}
