import { Controller, Delete, Put, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { RequireScope } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { HubAccess } from '../auth/hub-access.service.js';
import { descriptorOf } from '../hub.service.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import type { UploadLink } from '../links/upload-link.js';
import { UploadLinks } from '../links/upload-links.service.js';
import { mediaTypeIn } from '../media-type.js';
import { bodyPieces, drain, FORM_MAX_BYTES, readBody } from '../wire/body-reader.js';
import { type Fields, readFormFields, textOf } from '../wire/fields.js';
import { HubErrorFilter } from '../wire/hub-error.filter.js';
import { HubRefusal } from '../wire/hub-refusal.js';

/** Files that others store for an owner, by its link. Not part of the original. */
@Controller('api')
@UseFilters(HubErrorFilter)
export class ApiIncomingController {
  constructor(
    private readonly config: AppConfig,
    private readonly access: HubAccess,
    private readonly limits: HubLimits,
    private readonly links: UploadLinks,
  ) {}

  /** The body is the file. No API key is asked for: the owner vouches for who stores. */
  @Put('incoming')
  async take(@Req() request: Request, @Res() response: Response): Promise<void> {
    await this.limits.takeAddress(request, response);
    const link = await this.links.open(
      textOf(readFormFields(Buffer.alloc(0), request.query), 'link'),
    );
    const maxBytes = Math.min(link.maxBytes, this.config.hub.maxMultipartBytes);
    try {
      if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw HubRefusal.tooLarge();
      const type = typeOf(link, request);
      const stored = await this.links.receive(link, type, bodyPieces(request, maxBytes));
      const { owner, id, sha256 } = stored;
      sendJson(response, 200, { ...descriptorOf(stored), Owner: owner, Name: id, Sha256: sha256 });
    } catch (error) {
      await drain(request, maxBytes, error);
      throw error;
    }
  }

  /** Takes back `link`, those of `family`, or every one of the signer where none is named. Signed in the strict form. */
  @Delete('incoming')
  @RequireScope('hub')
  async takeBack(@Req() request: Request, @Res() response: Response): Promise<void> {
    await this.limits.takeAddress(request, response);
    const caller = await this.access.strictSignerOf(request);
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
}

/**
 * What the file is kept as: the type that the link names, which a client that names none is taken to send.
 *
 * @throws HubRefusal when it names another.
 */
function typeOf({ contentType }: UploadLink, request: Request): string | undefined {
  const given = request.headers['content-type'];
  const type = mediaTypeIn(given);
  if (contentType === '') return type;
  if (given !== undefined && type !== contentType) {
    throw HubRefusal.wrongType(`the link is for ${contentType}`);
  }
  return contentType;
}
