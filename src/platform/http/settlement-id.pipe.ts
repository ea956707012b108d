import { Injectable, NotFoundException, type PipeTransform } from '@nestjs/common';
import { isSettlementId } from '../../protocol/payment/wire-values.js';

/** The message for an id, a hash or an authorization without a settlement. */
export const NO_SUCH_SETTLEMENT = 'No settlement has this id, transaction or authorization.';

/** Checks a settlement id in a path. A malformed id gets the same 404 as an unknown one. */
@Injectable()
export class SettlementIdPipe implements PipeTransform<string, string> {
  transform(id: string): string {
    if (!isSettlementId(id)) throw new NotFoundException(NO_SUCH_SETTLEMENT);
    return id;
  }
}
