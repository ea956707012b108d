import { applyDecorators, Get, HttpCode, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { RequireScope } from '../../platform/http/access.js';
import { count, jsonAnswer } from '../../platform/http/openapi.js';
import { Describes } from '../hub.openapi.js';
import { HubListing } from '../index/hub-listing.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { Access, HubApi, Owner, RequestFields } from './hub-request.js';
import { ListDto, StatDto } from './hub-requests.dto.js';
import {
  type List,
  listAccounts,
  listBuckets,
  listConversations,
  listNeedles,
  listVolumes,
  type Row,
} from './lists.js';
import { type StatRow, statRows } from './statistics.js';

type Rows = Promise<readonly Row[]>;

const ROWS = jsonAnswer('Rows with the fields of the original.', 'HubRows', []);
/** Of a list that names its owner. */
const NEEDLES = {
  ...ROWS,
  headers: {
    'Hub-Used-Bytes': { description: 'What the quota of the owner counts.', schema: count },
    'Hub-Quota-Bytes': {
      description: 'Bytes that an owner may store in all; absent where there is no limit.',
      schema: { type: 'integer', minimum: 1 },
    },
  },
};
const DAYS = jsonAnswer('Days of a public hub, with the fields of the original.', 'HubRows', [
  {
    Day: '2026-11-26T00:00:00Z',
    DailyAccounts: 1,
    DailyBuckets: 1,
    DailyNeedles: 4,
    DailyVolumes: 1,
    TotalAccounts: 12,
    TotalBuckets: 15,
    TotalNeedles: 340,
    TotalVolumes: 12,
  },
]);

/** A list has two paths, whose last part the ids of its operations begin with. */
const paths = (what: string): string[] => [`list${what}`, `get${what}`];

const Lists = (what: string, summary: string, answer = ROWS): MethodDecorator =>
  applyDecorators(
    Get(paths(what)),
    Access('list'),
    Describes('{route}Get', summary, { query: ListDto, answer }),
  );
const ListsByForm = (what: string, summary: string, answer = ROWS): MethodDecorator =>
  applyDecorators(
    Post(paths(what)),
    HttpCode(200),
    Access('list'),
    Describes('{route}Post', summary, { isForm: true, answer }),
  );

/** The lists that the original's web pages and its Go client ask for, newest first. */
@HubApi()
@RequireScope('hub')
export class ApiListController {
  constructor(
    private readonly listing: HubListing,
    private readonly config: AppConfig,
  ) {}

  @Lists('Account', 'Owners, newest first.')
  accounts(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listAccounts, owner, asked);
  }

  @ListsByForm('Account', 'Owners, newest first.')
  accountsByForm(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listAccounts, owner, asked);
  }

  @Lists('Bucket', 'Buckets of an owner, newest first.')
  buckets(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listBuckets, owner, asked);
  }

  @ListsByForm('Bucket', 'Buckets of an owner, newest first.')
  bucketsByForm(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listBuckets, owner, asked);
  }

  @Lists('Conversation', 'Conversations of an owner, newest first.')
  conversations(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listConversations, owner, asked);
  }

  @Lists('Needle', 'What an owner has stored, newest first.', NEEDLES)
  needles(
    @Owner() owner: string,
    @RequestFields() asked: ListDto,
    @Res({ passthrough: true }) response: Response,
  ): Rows {
    return this.#needles(owner, asked, response);
  }

  @ListsByForm('Needle', 'What an owner has stored, newest first.', NEEDLES)
  needlesByForm(
    @Owner() owner: string,
    @RequestFields() asked: ListDto,
    @Res({ passthrough: true }) response: Response,
  ): Rows {
    return this.#needles(owner, asked, response);
  }

  @Lists('Volume', 'Volumes of an owner, newest first.')
  volumes(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listVolumes, owner, asked);
  }

  @ListsByForm('Volume', 'Volumes of an owner, newest first.')
  volumesByForm(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listVolumes, owner, asked);
  }

  /** Counts of the last days. A private hub says nothing of all its owners together. */
  @Get('stat')
  @Access('anyone')
  @Describes('hubStat', 'Counts of the last days, newest first.', {
    query: StatDto,
    hasNoOwner: true,
    answer: DAYS,
  })
  stat(@RequestFields() asked: StatDto): Promise<readonly StatRow[]> {
    return this.#stat(asked.count);
  }

  @Post('stat')
  @HttpCode(200)
  @Access('anyone')
  @Describes('hubStatByForm', 'The same.', { isForm: true, answer: DAYS })
  statByForm(@RequestFields() asked: StatDto): Promise<readonly StatRow[]> {
    return this.#stat(asked.count);
  }

  async #stat(days: number): Promise<readonly StatRow[]> {
    if (this.config.hub.isPrivate) throw HubRefusal.forbidden('a private hub has no statistics');
    return statRows(await this.listing.days(), days, Date.now());
  }

  #rows(list: List, owner: string, { bucket, name, conversation, ...page }: ListDto): Rows {
    return list(this.listing, { owner, bucket, name, conversation, page });
  }

  /** With what the quota counts: the same question would else want a second signature. */
  async #needles(owner: string, asked: ListDto, response: Response): Rows {
    const rows = await this.#rows(listNeedles, owner, asked);
    if (owner === '') return rows;
    const { bytes } = await this.listing.usageOf(owner);
    const { quotaBytes } = this.config.hub;
    response.setHeader('Hub-Used-Bytes', bytes);
    if (quotaBytes !== undefined) response.setHeader('Hub-Quota-Bytes', quotaBytes);
    return rows;
  }
}
