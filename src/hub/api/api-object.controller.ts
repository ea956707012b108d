import { Delete } from '@nestjs/common';
import { RequireScope } from '../../platform/http/access.js';
import { HubService } from '../hub.service.js';
import { Access, HubApi, Owner, RequestFields } from './hub-request.js';
import { RemovalDto } from './hub-requests.dto.js';

/** Not part of the original, which cannot remove anything. */
@HubApi()
@RequireScope('hub')
export class ApiObjectController {
  constructor(private readonly hub: HubService) {}

  /** Gives a name up: `?owner=&name=`. */
  @Delete('object')
  @Access('remove')
  async remove(@Owner() owner: string, @RequestFields() { name }: RemovalDto): Promise<object> {
    await this.hub.remove({ owner, id: name });
    return { Owner: owner, Name: name };
  }
}
