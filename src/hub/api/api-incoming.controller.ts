import { Delete, Put, Req } from '@nestjs/common';
import { ApiBody, ApiConsumes } from '@nestjs/swagger';
import type { Request } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { RequireScope } from '../../platform/http/access.js';
import { jsonAnswer, type JsonObject } from '../../platform/http/openapi.js';
import { BY_LINK, Describes, DESCRIPTOR, LINKS_TAKEN_BACK, OVER, refusal } from '../hub.openapi.js';
import { descriptorOf } from '../hub.service.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { revokeLinks } from '../links/revoke-links.js';
import type { UploadLink } from '../links/upload-link.js';
import { UploadLinks } from '../links/upload-links.service.js';
import { mediaTypeIn } from '../media-type.js';
import { bodyPieces, drain } from '../wire/body-reader.js';
import { readFormFields } from '../wire/fields.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { Access, HubApi, Owner, readDto, RequestFields } from './hub-request.js';
import { LinkDto, LinksDto } from './hub-requests.dto.js';

const BYTES: JsonObject = { type: 'string', contentMediaType: 'application/octet-stream' };

/** Files that others store for an owner, by its link. Not part of the original. */
@HubApi()
export class ApiIncomingController {
  constructor(
    private readonly config: AppConfig,
    private readonly limits: HubLimits,
    private readonly links: UploadLinks,
  ) {}

  /** The body is the file. No API key is asked for: the owner vouches for who stores. */
  @Put('incoming')
  @ApiConsumes('application/octet-stream')
  @ApiBody({
    description: 'The bytes of the file.',
    schema: BYTES,
  })
  @Describes('hubIncoming', 'Stores the body as the file that an upload link names, once.', {
    security: BY_LINK,
    query: LinkDto,
    hasNoOwner: true,
    answer: jsonAnswer('It is stored.', 'HubReceived', {
      ...DESCRIPTOR,
      Owner: '0x6370ef2f4db3611d657b90667de398a2cc2a370c',
      Name: 'report.pdf',
      Sha256: '9f'.repeat(32),
    }),
    more: {
      409: refusal('Another upload by the link is under way.', 'an upload is under way', [
        'Retry-After',
      ]),
      ...OVER,
      415: refusal('The link is for another content type.', 'the link is for application/pdf'),
    },
  })
  async take(@Req() request: Request): Promise<object> {
    const asked = readDto(LinkDto, readFormFields(Buffer.alloc(0), request.query));
    const link = await this.links.open(asked.link);
    const maxBytes = Math.min(link.maxBytes, this.config.hub.maxMultipartBytes);
    try {
      if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw HubRefusal.tooLarge();
      const type = typeOf(link, request);
      const stored = await this.links.receive(link, type, bodyPieces(request, maxBytes));
      const { owner, id, sha256 } = stored;
      return { ...descriptorOf(stored), Owner: owner, Name: id, Sha256: sha256 };
    } catch (error) {
      await drain(request, maxBytes, error);
      throw error;
    }
  }

  /** Signed in the strict form. */
  @Delete('incoming')
  @Describes(
    'hubTakeUploadLinkBack',
    'Takes upload links back. Signed by their owner in the strict form.',
    { query: LinksDto, answer: LINKS_TAKEN_BACK },
  )
  @RequireScope('hub')
  @Access('strict')
  async takeBack(@Owner() owner: string, @RequestFields() asked: LinksDto): Promise<object> {
    await this.limits.takeNote(owner);
    return revokeLinks(this.links, owner, asked);
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
