import { applyDecorators, Get, HttpCode, Post } from '@nestjs/common';
import { AppConfig } from '../../platform/config/app-config.js';
import { RequireScope } from '../../platform/http/access.js';
import { Answer, type AnswerHeaders } from '../../platform/http/answer.js';
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
type RowsWithUsage = Promise<Answer<readonly Row[]>>;

const ROWS = jsonAnswer('Rows with the fields of the original hub.', 'HubRows', []);
/** For a list with an owner. */
const NEEDLES = {
  ...ROWS,
  headers: {
    'Hub-Used-Bytes': {
      description: 'Bytes that count against the quota of the owner.',
      schema: count,
    },
    'Hub-Quota-Bytes': {
      description: 'The quota of an owner in bytes; absent without a quota.',
      schema: { type: 'integer', minimum: 1 },
    },
  },
};
const DAYS = jsonAnswer('Days of a public hub, with the fields of the original hub.', 'HubRows', [
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

/** A list has two paths; the last part of each begins the ids of its operations. */
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

/** The lists for the original's web pages and its Go client, newest first. */
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

  @Lists('Needle', 'Files and texts of an owner, newest first.', NEEDLES)
  needles(@Owner() owner: string, @RequestFields() asked: ListDto): RowsWithUsage {
    return this.#needles(owner, asked);
  }

  @ListsByForm('Needle', 'Files and texts of an owner, newest first.', NEEDLES)
  needlesByForm(@Owner() owner: string, @RequestFields() asked: ListDto): RowsWithUsage {
    return this.#needles(owner, asked);
  }

  @Lists('Volume', 'Volumes of an owner, newest first.')
  volumes(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listVolumes, owner, asked);
  }

  @ListsByForm('Volume', 'Volumes of an owner, newest first.')
  volumesByForm(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listVolumes, owner, asked);
  }

  /** Counts of the last days. A private hub shows no sums of all its owners. */
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

  /** With the usage for the quota, so that no second signed request is needed. */
  async #needles(owner: string, asked: ListDto): RowsWithUsage {
    const rows = await this.#rows(listNeedles, owner, asked);
    return new Answer(rows, owner === '' ? {} : await this.#usageOf(owner));
  }

  async #usageOf(owner: string): Promise<AnswerHeaders> {
    const { bytes } = await this.listing.usageOf(owner);
    const { quotaBytes } = this.config.hub;
    return {
      'Hub-Used-Bytes': bytes,
      ...(quotaBytes !== undefined && { 'Hub-Quota-Bytes': quotaBytes }),
    };
  }
}
