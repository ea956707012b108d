import { IgnoresUnknown } from '../../../platform/http/request.pipe.js';
import { IsCaip2 } from '../../../platform/http/validators.js';

@IgnoresUnknown()
export class AssetsQueryDto {
  @IsCaip2({ optional: true, description: 'Lists only tokens of this network.' })
  readonly network?: string;
}
