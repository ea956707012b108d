import { Injectable, NotFoundException, type PipeTransform } from '@nestjs/common';
import { isSettlementId } from '../../protocol/payment/wire-values.js';

/** Said of an id, a hash or an authorization that belongs to no settlement. */
export const NO_SUCH_SETTLEMENT = 'No settlement has this id, transaction or authorization.';

/** A path parameter that names a settlement: there is nothing at what no settlement is called. */
@Injectable()
export class SettlementIdPipe implements PipeTransform<string, string> {
  transform(id: string): string {
    if (!isSettlementId(id)) throw new NotFoundException(NO_SUCH_SETTLEMENT);
    return id;
  }
}
