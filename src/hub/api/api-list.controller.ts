import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { RequireScope } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { HubAccess } from '../auth/hub-access.service.js';
import { HubListing } from '../index/hub-listing.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { FORM_MAX_BYTES, readBody } from '../wire/body-reader.js';
import { countOf, type Fields, readFormFields, textOf } from '../wire/fields.js';
import { HubErrorFilter } from '../wire/hub-error.filter.js';
import type { List, ListQuery } from './lists.js';
import { listAccounts, listBuckets, listConversations, listNeedles, listVolumes } from './lists.js';

const LENGTH_DEFAULT = 32;
const LENGTH_MAX = 1024;

/** The lists that the original's web pages and its Go client ask for, newest first. */
@Controller('api')
@RequireScope('hub')
@UseFilters(HubErrorFilter)
export class ApiListController {
  constructor(
    private readonly listing: HubListing,
    private readonly access: HubAccess,
    private readonly limits: HubLimits,
    private readonly config: AppConfig,
  ) {}

  @Get(['listAccount', 'getAccount'])
  accounts(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, listAccounts);
  }

  @Post(['listAccount', 'getAccount'])
  @HttpCode(200)
  accountsByForm(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, listAccounts);
  }

  @Get(['listBucket', 'getBucket'])
  buckets(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, listBuckets);
  }

  @Post(['listBucket', 'getBucket'])
  @HttpCode(200)
  bucketsByForm(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, listBuckets);
  }

  @Get(['listConversation', 'getConversation'])
  conversations(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, listConversations);
  }

  @Get(['listNeedle', 'getNeedle'])
  needles(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, listNeedles);
  }

  @Post(['listNeedle', 'getNeedle'])
  @HttpCode(200)
  needlesByForm(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, listNeedles);
  }

  @Get(['listVolume', 'getVolume'])
  volumes(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, listVolumes);
  }

  @Post(['listVolume', 'getVolume'])
  @HttpCode(200)
  volumesByForm(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, listVolumes);
  }

  async #answer(request: Request, response: Response, list: List): Promise<void> {
    await this.limits.takeAddress(request, response);
    const caller = await this.access.callerOf(request, 'list');
    const body =
      request.method === 'POST' ? await readBody(request, FORM_MAX_BYTES) : Buffer.alloc(0);
    caller.assertBody(body);
    const fields: Fields = readFormFields(body, request.query);
    const owner = caller.ownerOfRead(textOf(fields, 'owner'));
    await this.limits.takeSigner(caller, response);
    const query: ListQuery = {
      owner,
      bucket: textOf(fields, 'bucket'),
      name: textOf(fields, 'name') || textOf(fields, 'id'),
      conversation: textOf(fields, 'conversation'),
      page: {
        offset: countOf(fields, 'offset', 0, Number.MAX_SAFE_INTEGER),
        length: countOf(fields, 'length', LENGTH_DEFAULT, LENGTH_MAX),
      },
    };
    const rows = await list(this.listing, query);
    if (list === listNeedles && owner !== '') await this.#tellUsage(response, owner);
    sendJson(response, 200, rows);
  }

  /** What the quota counts: the same question would else want a second signature. */
  async #tellUsage(response: Response, owner: string): Promise<void> {
    const { bytes } = await this.listing.usageOf(owner);
    const { quotaBytes } = this.config.hub;
    response.setHeader('Hub-Used-Bytes', bytes);
    if (quotaBytes !== undefined) response.setHeader('Hub-Quota-Bytes', quotaBytes);
  }
}
