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
import { type HubLinksTakenBack, HubReceived } from './hub.response.js';
import { Access, HubApi, Owner, readDto, RequestFields } from './hub-request.js';
import { LinkDto, LinksDto } from './hub-requests.dto.js';

const BYTES: JsonObject = { type: 'string', contentMediaType: 'application/octet-stream' };

/** Files that others store for an owner through its link. Not part of the original. */
@HubApi()
export class ApiIncomingController {
  constructor(
    private readonly config: AppConfig,
    private readonly limits: HubLimits,
    private readonly links: UploadLinks,
  ) {}

  /** The body is the file. No API key is required, because the owner allows the upload. */
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
    answer: jsonAnswer('The file is stored.', HubReceived, {
      ...DESCRIPTOR,
      Owner: '0x6370ef2f4db3611d657b90667de398a2cc2a370c',
      Name: 'report.pdf',
      Sha256: '9f'.repeat(32),
    }),
    more: {
      409: refusal(
        'Another upload with the same link is in progress.',
        'an upload with this link is in progress',
        ['Retry-After'],
      ),
      ...OVER,
      415: refusal('The link is for another content type.', 'the link is for application/pdf'),
    },
  })
  async take(@Req() request: Request): Promise<HubReceived> {
    const asked = readDto(LinkDto, readFormFields(Buffer.alloc(0), request.query));
    const link = await this.links.open(asked.link);
    const maxBytes = Math.min(link.maxBytes, this.config.hub.maxMultipartBytes);
    try {
      if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw HubRefusal.tooLarge();
      const type = typeOf(link, request);
      const stored = await this.links.receive(link, type, bodyPieces(request, maxBytes));
      const { owner, id, sha256 } = stored;
      const { File, Start, Size } = descriptorOf(stored);
      return { File, Start, Size, Owner: owner, Name: id, Sha256: sha256 };
    } catch (error) {
      await drain(request, maxBytes, error);
      throw error;
    }
  }

  /** Requires a strict signature. */
  @Delete('incoming')
  @Describes(
    'hubTakeUploadLinkBack',
    'Revokes upload links. Signed by their owner in the strict form.',
    { query: LinksDto, answer: LINKS_TAKEN_BACK },
  )
  @RequireScope('hub')
  @Access('strict')
  async takeBack(
    @Owner() owner: string,
    @RequestFields() asked: LinksDto,
  ): Promise<HubLinksTakenBack> {
    await this.limits.takeNote(owner);
    return revokeLinks(this.links, owner, asked);
  }
}

/**
 * The media type to store: the link's type. A client without a type is assumed to send that one.
 *
 * @throws HubRefusal when the client names another type.
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
