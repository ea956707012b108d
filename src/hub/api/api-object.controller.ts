import { Delete } from '@nestjs/common';
import { RequireScope } from '../../platform/http/access.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { Describes, NOT_FOUND } from '../hub.openapi.js';
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
  @Describes('hubRemove', 'Gives a name up, in private hubs. Signed by its owner.', {
    query: RemovalDto,
    answer: jsonAnswer('It is no longer found.', 'HubRemoved', {
      Owner: 'alice',
      Name: 'greeting',
    }),
    more: NOT_FOUND,
  })
  async remove(@Owner() owner: string, @RequestFields() { name }: RemovalDto): Promise<object> {
    await this.hub.remove({ owner, id: name });
    return { Owner: owner, Name: name };
  }
}
