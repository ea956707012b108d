import { Injectable, NotFoundException, type PipeTransform } from '@nestjs/common';
import { isSettlementId } from '../../protocol/payment/wire-values.js';

/** A path parameter that names a settlement: there is nothing at what no settlement is called. */
@Injectable()
export class SettlementIdPipe implements PipeTransform<string, string> {
  transform(id: string): string {
    if (!isSettlementId(id)) throw new NotFoundException();
    return id;
  }
}
