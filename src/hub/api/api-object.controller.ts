import { Delete } from '@nestjs/common';
import { RequireScope } from '../../platform/http/access.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { Describes, NOT_FOUND } from '../hub.openapi.js';
import { HubService } from '../hub.service.js';
import { HubRemoved } from './hub.response.js';
import { Access, HubApi, Owner, RequestFields } from './hub-request.js';
import { RemovalDto } from './hub-requests.dto.js';

/** Not part of the original, which cannot remove anything. */
@HubApi()
@RequireScope('hub')
export class ApiObjectController {
  constructor(private readonly hub: HubService) {}

  /** Removes a name: `?owner=&name=`. */
  @Delete('object')
  @Access('remove')
  @Describes('hubRemove', 'Removes a file from a private hub. Signed by its owner.', {
    query: RemovalDto,
    answer: jsonAnswer('The file is removed.', HubRemoved, {
      Owner: 'alice',
      Name: 'greeting',
    }),
    more: NOT_FOUND,
  })
  async remove(@Owner() owner: string, @RequestFields() { name }: RemovalDto): Promise<HubRemoved> {
    await this.hub.remove({ owner, id: name });
    return { Owner: owner, Name: name };
  }
}
