import { IgnoresUnknown } from '../../../platform/http/request.pipe.js';
import { IsCaip2 } from '../../../platform/http/validators.js';

@IgnoresUnknown()
export class AssetsQueryDto {
  @IsCaip2({ optional: true, description: 'Of one network only.' })
  readonly network?: string;
}
