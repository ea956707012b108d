import { applyDecorators, Get, HttpCode, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { RequireScope } from '../../platform/http/access.js';
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

const Lists = (paths: string[]): MethodDecorator => applyDecorators(Get(paths), Access('list'));
const ListsByForm = (paths: string[]): MethodDecorator =>
  applyDecorators(Post(paths), HttpCode(200), Access('list'));

/** The lists that the original's web pages and its Go client ask for, newest first. */
@HubApi()
@RequireScope('hub')
export class ApiListController {
  constructor(
    private readonly listing: HubListing,
    private readonly config: AppConfig,
  ) {}

  @Lists(['listAccount', 'getAccount'])
  accounts(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listAccounts, owner, asked);
  }

  @ListsByForm(['listAccount', 'getAccount'])
  accountsByForm(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listAccounts, owner, asked);
  }

  @Lists(['listBucket', 'getBucket'])
  buckets(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listBuckets, owner, asked);
  }

  @ListsByForm(['listBucket', 'getBucket'])
  bucketsByForm(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listBuckets, owner, asked);
  }

  @Lists(['listConversation', 'getConversation'])
  conversations(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listConversations, owner, asked);
  }

  @Lists(['listNeedle', 'getNeedle'])
  needles(
    @Owner() owner: string,
    @RequestFields() asked: ListDto,
    @Res({ passthrough: true }) response: Response,
  ): Rows {
    return this.#needles(owner, asked, response);
  }

  @ListsByForm(['listNeedle', 'getNeedle'])
  needlesByForm(
    @Owner() owner: string,
    @RequestFields() asked: ListDto,
    @Res({ passthrough: true }) response: Response,
  ): Rows {
    return this.#needles(owner, asked, response);
  }

  @Lists(['listVolume', 'getVolume'])
  volumes(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listVolumes, owner, asked);
  }

  @ListsByForm(['listVolume', 'getVolume'])
  volumesByForm(@Owner() owner: string, @RequestFields() asked: ListDto): Rows {
    return this.#rows(listVolumes, owner, asked);
  }

  /** Counts of the last days. A private hub says nothing of all its owners together. */
  @Get('stat')
  @Access('anyone')
  stat(@RequestFields() { count }: StatDto): Promise<readonly StatRow[]> {
    return this.#stat(count);
  }

  @Post('stat')
  @HttpCode(200)
  @Access('anyone')
  statByForm(@RequestFields() { count }: StatDto): Promise<readonly StatRow[]> {
    return this.#stat(count);
  }

  async #stat(count: number): Promise<readonly StatRow[]> {
    if (this.config.hub.isPrivate) throw HubRefusal.forbidden('a private hub has no statistics');
    return statRows(await this.listing.days(), count, Date.now());
  }

  #rows(list: List, owner: string, { bucket, name, conversation, page }: ListDto): Rows {
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
