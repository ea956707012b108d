import { Delete, Get, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RequireScope } from '../../platform/http/access.js';
import {
  BY_LINK,
  Describes,
  IN_PARTS,
  LINKS_TAKEN_BACK,
  NOT_FOUND,
  OVER,
  SHARED_BYTES,
  TAKEN_DOWN,
} from '../hub.openapi.js';
import { HubService } from '../hub.service.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { revokeLinks } from '../links/revoke-links.js';
import type { ShareLink } from '../links/share-link.js';
import { ShareLinks } from '../links/share-links.service.js';
import { isOfContent } from '../links/signed-link.js';
import type { StoredObject } from '../storage/storage-provider.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { sendPayload } from '../wire/payload-response.js';
import type { HubLinksTakenBack } from './hub.response.js';
import { Access, HubApi, Owner, RequestFields } from './hub-request.js';
import { LinkDto, LinksDto } from './hub-requests.dto.js';

/** Files that their owners share through a link. Not part of the original. */
@HubApi()
export class ApiSharedController {
  constructor(
    private readonly hub: HubService,
    private readonly limits: HubLimits,
    private readonly links: ShareLinks,
  ) {}

  /** Also HEAD, which uses nothing up. No API key is required, because the owner allows the read. */
  @Get('shared')
  @Access('anyone')
  @Describes('hubShared', 'Serves the file of a share link. Supports ranges and ETags.', {
    security: BY_LINK,
    query: LinkDto,
    hasNoOwner: true,
    answer: SHARED_BYTES,
    more: { ...IN_PARTS, ...OVER, ...NOT_FOUND, ...TAKEN_DOWN },
  })
  async read(
    @RequestFields() asked: LinkDto,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    response.setHeader('X-Content-Type-Options', 'nosniff');
    const link = await this.links.open(asked.link);
    const named = await this.hub.find(link.owner, link.name);
    const { object } = named;
    if (!isOfContent(link, object.sha256))
      throw HubRefusal.gone(
        'the file was changed after it was shared; ask the owner for a new link',
      );
    this.hub.assertServed(named, object);
    this.limits.takeStream(request, response);
    const read = (from: number, length: number): AsyncGenerator<Uint8Array> =>
      this.#bytes(link, object, from, length);
    await sendPayload(request, response, object, read, link.once);
  }

  /** Signed by the owner. */
  @Delete('shared')
  @RequireScope('hub')
  @Access('remove')
  @Describes('hubTakeLinkBack', 'Revokes share links. Signed by their owner.', {
    query: LinksDto,
    answer: LINKS_TAKEN_BACK,
  })
  async takeBack(
    @Owner() owner: string,
    @RequestFields() asked: LinksDto,
  ): Promise<HubLinksTakenBack> {
    await this.limits.takeNote(owner);
    return revokeLinks(this.links, owner, asked);
  }

  /** A link for one answer is used up when its first bytes were read and verified, before they are sent. */
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
