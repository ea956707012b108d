import { Get } from '@nestjs/common';
import { RequireScope } from '../../platform/http/access.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { Describes, NOT_FOUND } from '../hub.openapi.js';
import { HubListing } from '../index/hub-listing.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { Access, HubApi, Owner, RequestFields } from './hub-request.js';
import { NameDto } from './hub-requests.dto.js';
import { type Row, versionRows } from './lists.js';

/** Earlier versions of a name. Not part of the original, which keeps only the newest. */
@HubApi()
@RequireScope('hub')
export class ApiVersionController {
  constructor(private readonly listing: HubListing) {}

  @Get('versions')
  @Access('read')
  @Describes('hubVersions', 'The present and earlier versions of a file, newest first.', {
    query: NameDto,
    answer: jsonAnswer('At most `HUB_VERSIONS` earlier versions.', 'HubRows', []),
    more: NOT_FOUND,
  })
  async versions(
    @Owner() owner: string,
    @RequestFields() { name: id }: NameDto,
  ): Promise<readonly Row[]> {
    if (owner === '') throw HubRefusal.malformed('owner is required');
    const rows = await versionRows(this.listing, { owner, id });
    if (rows.length === 0) throw HubRefusal.notFound(`no such file: ${id} at ${owner}`);
    return rows;
  }
}
