import { fileTagOf } from '../../../../src/hub/sales/offer.js';
import type { PaidSale, Sale, SaleStore } from '../../../../src/hub/sales/sale.js';

/** Sales in this process, for tests. Nothing of it ends by itself. */
export class MemorySaleStore implements SaleStore {
  readonly sales = new Map<string, Sale>();
  readonly #current = new Map<string, string>();

  /** In one step, as in Redis. */
  begin(sale: Sale): Promise<Sale> {
    const current = this.#current.get(`${sale.payer}:${fileTagOf(sale.object)}`) ?? '';
    const there = this.sales.get(sale.authorizationId) ?? this.sales.get(current);
    return Promise.resolve(there ?? this.#keep(sale));
  }

  find(authorizationId: string): Promise<Sale | undefined> {
    return Promise.resolve(this.sales.get(authorizationId));
  }

  current(payer: string, fileTag: string): Promise<Sale | undefined> {
    return this.find(this.#current.get(`${payer}:${fileTag}`) ?? '');
  }

  async complete(sale: Sale, paid: PaidSale): Promise<Sale> {
    const there = await this.find(sale.authorizationId);
    if (there?.paid !== undefined) return there;
    return this.#keep({ ...sale, paymentPayload: {}, paymentRequirements: {}, paid });
  }

  async drop(sale: Sale): Promise<void> {
    const there = await this.find(sale.authorizationId);
    if (there?.paid === undefined) this.sales.delete(sale.authorizationId);
  }

  #keep(sale: Sale): Sale {
    this.sales.set(sale.authorizationId, sale);
    this.#current.set(`${sale.payer}:${fileTagOf(sale.object)}`, sale.authorizationId);
    return sale;
  }
}
