import { Delete, Get, HttpStatus, Param, Put, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiParam } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { jsonAnswer, text } from '../../platform/http/openapi.js';
import { bucketRow, isoTime } from '../api/lists.js';
import { HubBuckets } from '../buckets.service.js';
import { Describes, NO_BUCKET, refusal } from '../hub.openapi.js';
import { HubListing } from '../index/hub-listing.js';
import { BUCKET_KINDS, NAME_MAX_BYTES } from '../names.js';
import { FORM_MAX_BYTES, readBody } from '../wire/body-reader.js';
import { readJsonFields, textOf } from '../wire/fields.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { nextCursor, pageOf, V1BucketsDto, V1OwnerDto } from './dto/v1-query.dto.js';
import { HubV1, V1Callers } from './hub-v1.js';

export const BUCKET_IN_PATH = {
  name: 'bucket',
  schema: { ...text, minLength: 1, maxLength: NAME_MAX_BYTES.bucket },
};
const KIND_BODY = {
  type: 'object',
  properties: {
    kind: { type: 'string', nullable: true, enum: [...BUCKET_KINDS, '', null], default: 'memory' },
  },
};

/** Buckets. A bucket's name belongs to its owner: another owner may use the same name. */
@HubV1()
export class V1BucketsController {
  constructor(
    private readonly callers: V1Callers,
    private readonly buckets: HubBuckets,
    private readonly listing: HubListing,
  ) {}

  @Get('buckets')
  @Describes('hubBuckets', 'Buckets of an owner, newest first.', {
    hasNoOwner: true,
    answer: jsonAnswer('A page of them.', 'HubBuckets'),
  })
  async list(
    @Query() query: V1BucketsDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<object> {
    const owner = await this.callers.ownerOf(request, response, 'list', query);
    const { buckets, next, count } = await this.listing.buckets(owner, pageOf(query), query.kind);
    return {
      // The buckets of one kind are not counted.
      ...(query.kind === '' && totalIn(query, count)),
      buckets: buckets.map((bucket) => bucketRow(owner, bucket)),
      nextCursor: nextCursor(query, next),
    };
  }

  @Get('buckets/:bucket')
  @ApiParam(BUCKET_IN_PATH)
  @Describes('hubBucket', 'A bucket of an owner.', {
    hasNoOwner: true,
    answer: jsonAnswer('The bucket.', 'HubBucket'),
    more: NO_BUCKET,
  })
  async one(
    @Param('bucket') bucket: string,
    @Query() query: V1OwnerDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<object> {
    const owner = await this.callers.ownerOf(request, response, 'read', query);
    const { kind, since } = await this.buckets.find(owner, bucket);
    return { bucket, owner, kind, createdAt: isoTime(since) };
  }

  @Put('buckets/:bucket')
  @ApiParam(BUCKET_IN_PATH)
  @ApiBody({ required: false, schema: KIND_BODY })
  @Describes('hubCreateBucket', 'Creates a bucket that stays when it is empty.', {
    hasNoOwner: true,
    answer: jsonAnswer('It was there.', 'HubBucketCreated'),
    more: {
      201: jsonAnswer('It is new.', 'HubBucketCreated'),
      409: refusal('The bucket has another kind.', 'bucket kind is immutable'),
    },
  })
  async create(
    @Param('bucket') bucket: string,
    @Query() { owner: given }: V1OwnerDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<object> {
    const body = await readBody(request, FORM_MAX_BYTES);
    const owner = await this.callers.ownerOf(request, response, 'write', { owner: given, body });
    const kind = kindIn(body);
    const created = await this.buckets.create(owner, bucket, kind);
    response.status(created ? HttpStatus.CREATED : HttpStatus.OK);
    return { bucket, owner, kind, created };
  }

  /** With all its files, in private hubs. */
  @Delete('buckets/:bucket')
  @ApiParam(BUCKET_IN_PATH)
  @Describes('hubRemoveBucket', 'Removes a bucket with its files, in private hubs.', {
    hasNoOwner: true,
    answer: jsonAnswer('It is removed.', 'HubBucketRemoved'),
    more: {
      ...NO_BUCKET,
      409: refusal('More files than one request removes: ask again.', 'ask again', ['Retry-After']),
    },
  })
  async remove(
    @Param('bucket') bucket: string,
    @Query() { owner: given }: V1OwnerDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<object> {
    const body = await readBody(request, FORM_MAX_BYTES);
    const owner = await this.callers.ownerOf(request, response, 'remove', { owner: given, body });
    await this.buckets.remove(owner, bucket);
    return { bucket, owner, deleted: true };
  }
}

/** @param count - of all rows. @returns the field `total` where the query asks for it. */
export function totalIn(query: { readonly withTotal: string }, count: number): object {
  return ['1', 'true'].includes(query.withTotal) ? { total: count } : {};
}

/** @throws HubRefusal */
function kindIn(body: Buffer): string {
  const kind = body.length === 0 ? '' : textOf(readJsonFields(body), 'kind');
  if (kind === '') return 'memory';
  if ((BUCKET_KINDS as readonly string[]).includes(kind)) return kind;
  throw HubRefusal.malformed(`invalid kind (want ${BUCKET_KINDS.join('|')})`);
}
