import { Controller, Delete, Get, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RequireScope } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { HubAccess } from '../auth/hub-access.service.js';
import { HubService } from '../hub.service.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import type { ShareLink } from '../links/share-link.js';
import { ShareLinks } from '../links/share-links.service.js';
import { isOfContent } from '../links/signed-link.js';
import type { StoredObject } from '../storage/storage-provider.js';
import { FORM_MAX_BYTES, readBody } from '../wire/body-reader.js';
import { type Fields, readFormFields, textOf } from '../wire/fields.js';
import { HubErrorFilter } from '../wire/hub-error.filter.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { sendPayload } from '../wire/payload-response.js';

/** Files that their owners have shared by a link. Not part of the original. */
@Controller('api')
@UseFilters(HubErrorFilter)
export class ApiSharedController {
  constructor(
    private readonly hub: HubService,
    private readonly access: HubAccess,
    private readonly limits: HubLimits,
    private readonly links: ShareLinks,
  ) {}

  /** HEAD, too, which uses nothing up. No API key is asked for: the owner vouches for who reads. */
  @Get('shared')
  async read(@Req() request: Request, @Res() response: Response): Promise<void> {
    response.setHeader('X-Content-Type-Options', 'nosniff');
    await this.limits.takeAddress(request, response);
    const link = await this.links.open(
      textOf(readFormFields(Buffer.alloc(0), request.query), 'link'),
    );
    const named = await this.hub.find(link.owner, link.name);
    const { object } = named;
    if (!isOfContent(link, object.sha256))
      throw HubRefusal.gone('the file is not the one that was shared');
    this.hub.assertServed(named, object);
    this.limits.takeStream(request, response);
    const read = (from: number, length: number): AsyncGenerator<Uint8Array> =>
      this.#bytes(link, object, from, length);
    await sendPayload(request, response, object, read, link.once);
  }

  /** Takes back `link`, those of `family`, or every link of the signer where none is named. Signed by the owner. */
  @Delete('shared')
  @RequireScope('hub')
  async takeBack(@Req() request: Request, @Res() response: Response): Promise<void> {
    await this.limits.takeAddress(request, response);
    const caller = await this.access.callerOf(request, 'remove');
    const body = await readBody(request, FORM_MAX_BYTES);
    caller.assertBody(body);
    await this.limits.takeSigner(caller, response);
    const fields: Fields = readFormFields(body, request.query);
    const owner = caller.ownerOfRead(textOf(fields, 'owner'));
    await this.limits.takeNote(owner);
    const link = textOf(fields, 'link');
    if (link !== '') {
      await this.links.takeBack(owner, link);
      sendJson(response, 200, { Owner: owner, Links: 'one' });
      return;
    }
    const family = textOf(fields, 'family');
    if (family !== '') {
      await this.links.takeFamilyBack(owner, family);
      sendJson(response, 200, { Owner: owner, Links: 'family' });
      return;
    }
    const issuedUntil = await this.links.takeAllBack(owner);
    sendJson(response, 200, { Owner: owner, Links: 'all', IssuedUntil: issuedUntil });
  }

  /** A link for one answer is used up when its first bytes were read and found whole, before they are sent. */
  async *#bytes(
    link: ShareLink,
    object: StoredObject,
    from: number,
    length: number,
  ): AsyncGenerator<Uint8Array> {
    const pieces = this.hub.read(object, from, length);
    try {
      const first = await pieces.next();
      await this.links.use(link);
      if (first.done !== true) yield first.value;
      yield* pieces;
    } finally {
      await pieces.return(undefined);
    }
  }
}
