import { Get, Put } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { RequireScope } from '../../platform/http/access.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { Describes, NOT_FOUND } from '../hub.openapi.js';
import { HubService } from '../hub.service.js';
import { HubListing } from '../index/hub-listing.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { HubRetention } from './hub.response.js';
import { Access, HubApi, Owner, RequestFields } from './hub-request.js';
import { RetentionDto } from './hub-requests.dto.js';

/** Ten years. */
const DAYS_MAX = 3650;
const RETENTION = jsonAnswer('What holds.', HubRetention);

/** How long an owner's files can be found. Requires a strict signature, in any hub. */
@HubApi()
@RequireScope('hub')
export class ApiRetentionController {
  constructor(
    private readonly listing: HubListing,
    private readonly hub: HubService,
  ) {}

  @Put('retention')
  @Access('strict')
  @ApiBody({ type: RetentionDto })
  @Describes('hubSetRetention', 'Sets the retention of an owner in days. Signed by the owner.', {
    hasNoOwner: true,
    answer: RETENTION,
    more: NOT_FOUND,
  })
  async set(@Owner() owner: string, @RequestFields() asked: RetentionDto): Promise<HubRetention> {
    const days = this.#daysOf(asked.days);
    await this.#assertKnown(owner);
    if ((await this.listing.retentionOf(owner)) !== days) await this.hub.setRetention(owner, days);
    return { Owner: owner, Days: days };
  }

  @Get('retention')
  @Access('strict')
  @Describes('hubRetention', 'The retention of an owner in days. Signed by the owner.', {
    answer: RETENTION,
  })
  async of(@Owner() owner: string): Promise<HubRetention> {
    return { Owner: owner, Days: await this.listing.retentionOf(owner) };
  }

  /** @throws HubRefusal */
  #daysOf(given: unknown): number {
    const days = typeof given === 'string' && /^\d{1,9}$/.test(given) ? Number(given) : given;
    const isCount = typeof days === 'number' && Number.isSafeInteger(days);
    if (isCount && (days === 0 || (days >= 1 && days <= DAYS_MAX))) return days;
    throw HubRefusal.malformed(`days must be a number from 1 to ${DAYS_MAX}, or 0 for ever`);
  }

  /** The stored bytes of the owner limit the number of notes. */
  async #assertKnown(owner: string): Promise<void> {
    const { bytes } = await this.listing.usageOf(owner);
    if (bytes === 0) throw HubRefusal.notFound('this owner has stored nothing here');
  }
}
