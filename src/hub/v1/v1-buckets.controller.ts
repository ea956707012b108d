import { Delete, Get, HttpStatus, Param, Put, Query, Req } from '@nestjs/common';
import { ApiBody, ApiParam } from '@nestjs/swagger';
import type { Request } from 'express';
import { Answer } from '../../platform/http/answer.js';
import { jsonAnswer, text } from '../../platform/http/openapi.js';
import { bucketRow, isoTime } from '../api/lists.js';
import type { Caller } from '../auth/caller.js';
import { HubBuckets } from '../buckets.service.js';
import { Describes, NO_BUCKET, refusal } from '../hub.openapi.js';
import { HubListing } from '../index/hub-listing.js';
import { BUCKET_KINDS, NAME_MAX_BYTES } from '../names.js';
import { FORM_MAX_BYTES, readBody } from '../wire/body-reader.js';
import { readJsonFields, textOf } from '../wire/fields.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { BucketsPage, HubBucket, HubBucketCreated, HubBucketRemoved } from './dto/v1.response.js';
import { nextCursor, pageOf, V1BucketsDto, V1OwnerDto } from './dto/v1-query.dto.js';
import { CurrentCaller, HubV1, ownerNeeded, V1Access } from './hub-v1.js';

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
    private readonly buckets: HubBuckets,
    private readonly listing: HubListing,
  ) {}

  @Get('buckets')
  @V1Access('list')
  @Describes('hubBuckets', 'Buckets of an owner, newest first.', {
    hasNoOwner: true,
    answer: jsonAnswer('A page of them.', BucketsPage),
  })
  async list(@Query() query: V1BucketsDto, @CurrentCaller() caller: Caller): Promise<BucketsPage> {
    const owner = ownerNeeded(caller, query.owner);
    const { buckets, next, count } = await this.listing.buckets(owner, pageOf(query), query.kind);
    return {
      // The buckets of one kind are not counted.
      ...(query.kind === '' && totalIn(query, count)),
      buckets: buckets.map((bucket) => bucketRow(owner, bucket)),
      nextCursor: nextCursor(query, next),
    };
  }

  @Get('buckets/:bucket')
  @V1Access('read')
  @ApiParam(BUCKET_IN_PATH)
  @Describes('hubBucket', 'A bucket of an owner.', {
    hasNoOwner: true,
    answer: jsonAnswer('The bucket.', HubBucket),
    more: NO_BUCKET,
  })
  async one(
    @Param('bucket') bucket: string,
    @Query() query: V1OwnerDto,
    @CurrentCaller() caller: Caller,
  ): Promise<HubBucket> {
    const owner = ownerNeeded(caller, query.owner);
    const { kind, since } = await this.buckets.find(owner, bucket);
    return { bucket, owner, kind, createdAt: isoTime(since) };
  }

  @Put('buckets/:bucket')
  @V1Access('write')
  @ApiParam(BUCKET_IN_PATH)
  @ApiBody({ required: false, schema: KIND_BODY })
  @Describes('hubCreateBucket', 'Creates a bucket that stays when it is empty.', {
    hasNoOwner: true,
    answer: jsonAnswer('The bucket already existed.', HubBucketCreated),
    more: {
      201: jsonAnswer('The bucket is created.', HubBucketCreated),
      409: refusal('The bucket has another kind.', 'bucket kind is immutable'),
    },
  })
  async create(
    @Param('bucket') bucket: string,
    @Query() { owner: given }: V1OwnerDto,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
  ): Promise<Answer<HubBucketCreated>> {
    const body = await readBody(request, FORM_MAX_BYTES);
    caller.assertBody(body);
    const owner = ownerNeeded(caller, given);
    const kind = kindIn(body);
    const created = await this.buckets.create(owner, bucket, kind);
    const status = created ? HttpStatus.CREATED : HttpStatus.OK;
    return new Answer({ bucket, owner, kind, created }, {}, status);
  }

  /** With all its files, in private hubs. */
  @Delete('buckets/:bucket')
  @V1Access('remove')
  @ApiParam(BUCKET_IN_PATH)
  @Describes('hubRemoveBucket', 'Removes a bucket with its files, in private hubs.', {
    hasNoOwner: true,
    answer: jsonAnswer('The bucket is removed.', HubBucketRemoved),
    more: {
      ...NO_BUCKET,
      409: refusal(
        'The bucket has more files than one request removes. Repeat the request.',
        '10000 files of the bucket were removed; repeat the request to remove the rest',
        ['Retry-After'],
      ),
    },
  })
  async remove(
    @Param('bucket') bucket: string,
    @Query() { owner: given }: V1OwnerDto,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
  ): Promise<HubBucketRemoved> {
    caller.assertBody(await readBody(request, FORM_MAX_BYTES));
    const owner = ownerNeeded(caller, given);
    await this.buckets.remove(owner, bucket);
    return { bucket, owner, deleted: true };
  }
}

/** @param count - of all rows. @returns the field `total` where the query asks for it. */
export function totalIn(
  query: { readonly withTotal: string },
  count: number,
): { readonly total?: number } {
  return ['1', 'true'].includes(query.withTotal) ? { total: count } : {};
}

/** @throws HubRefusal */
function kindIn(body: Buffer): string {
  const kind = body.length === 0 ? '' : textOf(readJsonFields(body), 'kind');
  if (kind === '') return 'memory';
  if ((BUCKET_KINDS as readonly string[]).includes(kind)) return kind;
  throw HubRefusal.malformed(`invalid kind (want ${BUCKET_KINDS.join('|')})`);
}
