import { Get, HttpCode, HttpStatus, Param, Post, Put, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiParam } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { jsonAnswer, text } from '../../platform/http/openapi.js';
import type { Caller } from '../auth/caller.js';
import { HubBuckets } from '../buckets.service.js';
import { Downloads } from '../downloads.service.js';
import {
  Describes,
  IN_PARTS,
  NO_BUCKET,
  NOT_FOUND,
  OBJECT_BYTES,
  PRICED,
  refusal,
  TakesPayments,
  UNSERVED,
} from '../hub.openapi.js';
import { HubService } from '../hub.service.js';
import { HubListing } from '../index/hub-listing.js';
import { mediaTypeIn } from '../media-type.js';
import { NAME_MAX_BYTES } from '../names.js';
import type { NewObject } from '../storage/storage-provider.js';
import { bodyPieces, drain } from '../wire/body-reader.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { FILES_MOST, readMultipartFiles } from '../wire/multipart.js';
import { HubObjects, HubReceipts, Receipt } from './dto/v1.response.js';
import { nextCursor, pageOf, V1ListDto, V1OwnerDto } from './dto/v1-query.dto.js';
import { CurrentCaller, HubV1, ownerNeeded, V1Access, V1Callers } from './hub-v1.js';
import { receiptOf } from './receipt.js';
import { BUCKET_IN_PATH, totalIn } from './v1-buckets.controller.js';

/** Bytes of a form beside its files. */
const FORM_OVERHEAD_BYTES = 262_144;
const UNTYPED = 'application/octet-stream';

const KEY_IN_PATH = {
  name: 'key',
  schema: { ...text, minLength: 1, maxLength: NAME_MAX_BYTES.id },
};
const BYTES = { type: 'string', contentMediaType: UNTYPED } as const;
const PAGE = jsonAnswer('A page of them.', HubObjects);
const RECEIPT = jsonAnswer('The file.', Receipt);
const UNSTORED = {
  ...NO_BUCKET,
  409: refusal('The key belongs to another bucket.', 'the key belongs to another bucket: notes'),
};

/** Files in buckets. A key is the id of the `/api` routes: each key of an owner is in one bucket. */
@HubV1()
export class V1ObjectsController {
  constructor(
    private readonly config: AppConfig,
    private readonly callers: V1Callers,
    private readonly hub: HubService,
    private readonly listing: HubListing,
    private readonly buckets: HubBuckets,
    private readonly downloads: Downloads,
  ) {}

  /** Files of all buckets of an owner. A public hub lists the newest files of all owners where no owner is named. */
  @Get('objects')
  @V1Access('list')
  @Describes('hubObjects', 'Files of an owner, newest first.', {
    hasNoOwner: true,
    answer: PAGE,
  })
  async all(@Query() query: V1ListDto, @CurrentCaller() caller: Caller): Promise<HubObjects> {
    const owner = caller.ownerOfRead(query.owner);
    const page = pageOf(query);
    const found =
      owner === '' ? await this.listing.recent(page) : await this.listing.files(owner, '', page);
    return listOf(query, found);
  }

  @Get('buckets/:bucket/objects')
  @V1Access('list')
  @ApiParam(BUCKET_IN_PATH)
  @Describes('hubBucketObjects', 'Files of a bucket, newest first.', {
    hasNoOwner: true,
    answer: PAGE,
  })
  async list(
    @Param('bucket') bucket: string,
    @Query() query: V1ListDto,
    @CurrentCaller() caller: Caller,
  ): Promise<HubObjects> {
    const owner = ownerNeeded(caller, query.owner);
    return listOf(query, await this.listing.files(owner, bucket, pageOf(query)));
  }

  @Get('buckets/:bucket/objects/:key')
  @V1Access('read')
  @ApiParam(BUCKET_IN_PATH)
  @ApiParam(KEY_IN_PATH)
  @Describes('hubObject', 'A file, without its bytes.', {
    hasNoOwner: true,
    answer: RECEIPT,
    more: NOT_FOUND,
  })
  async one(
    @Param('bucket') bucket: string,
    @Param('key') id: string,
    @Query() query: V1OwnerDto,
    @CurrentCaller() caller: Caller,
  ): Promise<Receipt> {
    const owner = caller.ownerOfRead(query.owner);
    return receiptOf((await this.downloads.find(owner, { id, bucket })).object);
  }

  /** Answers HEAD, ranges and ETags too, and sells a file with a price. */
  @Get('buckets/:bucket/objects/:key/content')
  @ApiParam(BUCKET_IN_PATH)
  @ApiParam(KEY_IN_PATH)
  @Describes('hubObjectContent', 'The bytes of a file. Supports ranges and ETags.', {
    hasNoOwner: true,
    answer: OBJECT_BYTES,
    more: { ...IN_PARTS, 402: PRICED, ...UNSERVED },
  })
  @TakesPayments()
  content(
    @Param('bucket') bucket: string,
    @Param('key') id: string,
    @Query() { owner }: V1OwnerDto,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    return this.downloads.answer(request, response, {
      owner,
      id,
      bucket,
      usualType: UNTYPED,
      body: Buffer.alloc(0),
      caller: () => this.callers.callerOf(request, 'read', owner),
    });
  }

  /** The body is the file. The bucket has to be there. */
  @Put('buckets/:bucket/objects/:key')
  @V1Access('write')
  @ApiParam(BUCKET_IN_PATH)
  @ApiParam(KEY_IN_PATH)
  @ApiConsumes('application/octet-stream')
  @ApiBody({ description: 'The bytes of the file.', schema: BYTES })
  @Describes('hubPutObject', 'Stores the body as a file of a bucket.', {
    hasNoOwner: true,
    status: 202,
    answer: RECEIPT,
    more: UNSTORED,
  })
  @HttpCode(HttpStatus.ACCEPTED)
  async put(
    @Param('bucket') bucket: string,
    @Param('key') id: string,
    @Query() { owner: given }: V1OwnerDto,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
  ): Promise<Receipt> {
    const maxBytes = this.config.hub.maxMultipartBytes;
    try {
      if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw HubRefusal.tooLarge();
      const owner = ownerNeeded(caller, given);
      const object = await this.#newObject(owner, bucket, id);
      const contentType = mediaTypeIn(request.headers['content-type']);
      const stored = await this.hub.storeStream(
        () => Promise.resolve({ ...object, contentType }),
        caller.bodyChecked(bodyPieces(request, maxBytes)),
        owner,
      );
      return receiptOf(stored);
    } catch (error) {
      await drain(request, maxBytes, error);
      throw error;
    }
  }

  /**
   * Files of a form, each named `files`. No file is stored before the whole form has arrived and matches the signature,
   * and nothing speaks against any of its files.
   */
  @Post('buckets/:bucket/objects')
  @V1Access('write')
  @ApiParam(BUCKET_IN_PATH)
  @ApiConsumes('multipart/form-data')
  @ApiBody({
    schema: {
      type: 'object',
      required: ['files'],
      properties: { files: { type: 'array', minItems: 1, maxItems: FILES_MOST, items: BYTES } },
    },
  })
  @Describes('hubPutObjects', 'Stores the files of a form in a bucket.', {
    hasNoOwner: true,
    status: 202,
    answer: jsonAnswer('The files.', HubReceipts),
    more: UNSTORED,
  })
  @HttpCode(HttpStatus.ACCEPTED)
  async putAll(
    @Param('bucket') bucket: string,
    @Query() { owner: given }: V1OwnerDto,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
  ): Promise<HubReceipts> {
    const maxBytes = this.config.hub.maxMultipartBytes + FORM_OVERHEAD_BYTES;
    try {
      const owner = ownerNeeded(caller, given);
      await this.buckets.find(owner, bucket);
      const body = caller.bodyChecked(bodyPieces(request, maxBytes));
      const stored = await readMultipartFiles(request.headers, body, (part) => {
        const described = async (): Promise<NewObject> => {
          await part.fields;
          return this.#newObject(owner, bucket, part.filename);
        };
        return this.hub.storeStream(described, part.bytes, owner, part.agreed);
      });
      if (stored.length === 0) {
        throw HubRefusal.malformed("no files (use form field 'files')");
      }
      return { objects: stored.map(receiptOf) };
    } catch (error) {
      await drain(request, maxBytes, error);
      throw error;
    }
  }

  /** @throws HubRefusal 404 for an unknown bucket; 409 for a key of another bucket, which would lose it. */
  async #newObject(owner: string, bucket: string, id: string): Promise<NewObject> {
    const { kind } = await this.buckets.find(owner, bucket);
    const known = (await this.hub.lookUp(owner, id))?.object;
    if (known !== undefined && known.bucket !== bucket) {
      throw HubRefusal.conflict(`the key belongs to another bucket: ${known.bucket}`);
    }
    return { owner, bucket, id, kind };
  }
}

function listOf(
  query: V1ListDto,
  { files, next, count }: Awaited<ReturnType<HubListing['files']>>,
): HubObjects {
  return {
    ...totalIn(query, count),
    objects: files.map(receiptOf),
    nextCursor: nextCursor(query, next),
  };
}
