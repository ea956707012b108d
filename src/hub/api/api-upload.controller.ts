import { HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiConsumes } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { RequireScope } from '../../platform/http/access.js';
import { object, text } from '../../platform/http/openapi.js';
import type { Caller } from '../auth/caller.js';
import { HubAccess } from '../auth/hub-access.service.js';
import { Describes, STORED } from '../hub.openapi.js';
import { descriptorOf, HubService } from '../hub.service.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { mediaTypeIn } from '../media-type.js';
import { isShortName, NAME_MAX_BYTES } from '../names.js';
import type { NewObject } from '../storage/storage-provider.js';
import { bodyPieces, drain, readBody } from '../wire/body-reader.js';
import { assertLight, type Fields, readJsonFields, textOf } from '../wire/fields.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { type FilePart, readMultipart } from '../wire/multipart.js';
import type { HubDescriptor } from './hub.response.js';
import { HubApi, readDto } from './hub-request.js';
import { MessageDto } from './hub-requests.dto.js';

/** Bytes of a form besides its file. */
const FORM_OVERHEAD_BYTES = 262_144;

/** Fields of the form, which is read piece by piece. */
const FILE_FORM = object(
  {
    owner: { ...text, minLength: 1, maxLength: NAME_MAX_BYTES.owner },
    file: { ...text, contentMediaType: 'application/octet-stream' },
  },
  { contentType: { ...text, description: '`text/plain` if absent.' } },
);

@HubApi()
@RequireScope('hub')
export class ApiUploadController {
  constructor(
    private readonly config: AppConfig,
    private readonly hub: HubService,
    private readonly access: HubAccess,
    private readonly limits: HubLimits,
  ) {}

  /** A text message, as JSON with any content type. */
  @Post('upload')
  @HttpCode(200)
  @ApiBody({
    type: MessageDto,
    description: 'JSON, whatever its content type says.',
    examples: { text: { value: { owner: 'alice', id: 'greeting', message: 'hello world' } } },
  })
  @Describes('hubUpload', 'Stores a text.', { hasNoOwner: true, answer: STORED })
  async upload(
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<HubDescriptor> {
    const caller = await this.access.callerOf(request, 'write');
    const body = await readBody(request, this.config.hub.maxJsonBytes);
    caller.assertBody(body);
    const dto = readDto(MessageDto, readJsonFields(body));
    const { owner: given, id, message, kind, contentType, ...sent } = dto;
    const owner = caller.ownerOf(given);
    const bytes = Buffer.from(message, 'utf8');
    const bucket = sent.bucket || ownBucketOf(bytes) || owner;
    const object = { owner, id, bucket, kind, ...contentTypeIn(contentType) };
    await this.limits.takeSigner(caller, response);
    return descriptorOf(await this.hub.store(object, bytes));
  }

  /** A file in a form. Its name is its id. */
  @Post('uploadData')
  @HttpCode(200)
  @ApiConsumes('multipart/form-data')
  @ApiBody({ schema: FILE_FORM })
  @Describes('hubUploadData', 'Stores a file.', { hasNoOwner: true, answer: STORED })
  async uploadData(
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<HubDescriptor> {
    const caller = await this.access.callerOf(request, 'write');
    const bodyMax = this.config.hub.maxMultipartBytes + FORM_OVERHEAD_BYTES;
    const body = caller.bodyChecked(bodyPieces(request, bodyMax));
    try {
      const stored = await readMultipart(request.headers, body, (part) =>
        this.hub.storeStream(
          () => this.#fileObject(caller, part, response),
          part.bytes,
          caller.signer,
        ),
      );
      if (stored === undefined) throw HubRefusal.malformed('http: no such file');
      return descriptorOf(stored);
    } catch (error) {
      await drain(request, bodyMax, error);
      throw error;
    }
  }

  async #fileObject(caller: Caller, part: FilePart, response: Response): Promise<NewObject> {
    const fields: Fields = await part.fields;
    const given = textOf(fields, 'owner');
    if (given === '') throw HubRefusal.malformed('owner is required');
    if (part.filename === '') throw HubRefusal.malformed('http: no such file');
    const owner = caller.ownerOf(given);
    await this.limits.takeSigner(caller, response);
    const bucket = textOf(fields, 'bucket') || owner;
    const kind = textOf(fields, 'kind') || 'memory';
    return {
      owner,
      id: part.filename,
      bucket,
      kind,
      ...contentTypeIn(textOf(fields, 'contenttype')),
    };
  }
}

/**
 * The bucket that a message names itself: the text `name` of a message that is a JSON object. Agents write their own
 * name there.
 *
 * @returns an empty text without a valid name of a bucket.
 * @throws HubRefusal for a message that takes long to read: its readers would not look for it in another bucket.
 */
export function ownBucketOf(message: Buffer): string {
  const text = message.toString('utf8').trimStart();
  if (!text.startsWith('{')) return '';
  assertLight(message);
  try {
    const { name } = JSON.parse(text) as { readonly name?: unknown };
    const own = typeof name === 'string' ? name.toWellFormed() : '';
    return isShortName('bucket', own) ? own : '';
  } catch {
    return '';
  }
}

/**
 * The media type from a separate field, because the client's library sets the type of a form's part.
 *
 * @throws HubRefusal when it is not a media type.
 */
function contentTypeIn(given: string): Pick<NewObject, 'contentType'> {
  if (given === '') return {};
  const contentType = mediaTypeIn(given);
  if (contentType === undefined) throw HubRefusal.malformed('contentType must be a media type');
  return { contentType };
}
