import { type CanActivate, Delete, Get, Injectable, Put } from '@nestjs/common';
import { RequireScope } from '../../platform/http/access.js';
import { priceView, readPrice } from '../sales/price.js';
import { PricingService } from '../sales/pricing.service.js';
import type { ObjectName } from '../storage/storage-provider.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { Access, HubApi, Owner, RequestFields } from './hub-request.js';
import { PricedFileDto } from './hub-requests.dto.js';

/** A hub that sells nothing says so before it asks who asks. */
@Injectable()
class SellingGuard implements CanActivate {
  constructor(private readonly pricing: PricingService) {}

  canActivate(): boolean {
    this.pricing.assertSelling();
    return true;
  }
}

/** What files cost. Owners say it by their strict signature, in whatever hub; anybody may ask. */
@HubApi(SellingGuard)
@RequireScope('hub')
export class ApiPriceController {
  constructor(private readonly pricing: PricingService) {}

  @Put('price')
  @Access('strict')
  async set(
    @Owner() owner: string,
    @RequestFields() { file, fields }: PricedFileDto,
  ): Promise<object> {
    const name = { owner, id: file };
    const amount = fields.get('amount');
    if (amount === 0 || amount === '0') return this.#clear(name);
    const read = readPrice(Object.fromEntries(fields));
    if (!read.ok) throw HubRefusal.malformed(read.problem);
    return priceView(await this.pricing.set(name, read.price));
  }

  @Delete('price')
  @Access('strict')
  remove(@Owner() owner: string, @RequestFields() { file }: PricedFileDto): Promise<object> {
    return this.#clear({ owner, id: file });
  }

  @Get('price')
  @Access('anyone')
  async of(@Owner() owner: string, @RequestFields() { file }: PricedFileDto): Promise<object> {
    return priceView(await this.pricing.of({ owner, id: file }));
  }

  async #clear(name: ObjectName): Promise<object> {
    await this.pricing.clear(name);
    return { owner: name.owner, file: name.id, amount: '0' };
  }
}
