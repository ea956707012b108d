import { type CanActivate, Delete, Get, Injectable, Put } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { RequireScope } from '../../platform/http/access.js';
import { jsonAnswer, schemaRef } from '../../platform/http/openapi.js';
import { Describes, NOT_FOUND, refusal, TAKEN_DOWN } from '../hub.openapi.js';
import { priceView, readPrice } from '../sales/price.js';
import { PricingService } from '../sales/pricing.service.js';
import type { ObjectName } from '../storage/storage-provider.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { Access, HubApi, Owner, RequestFields } from './hub-request.js';
import { PricedFileDto } from './hub-requests.dto.js';

const PRICE = jsonAnswer('What it costs.', 'HubPrice');

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
  @ApiBody({ schema: schemaRef('HubPriceWanted') })
  @Describes('hubSetPrice', 'Puts a price on a file. Signed by its owner.', {
    hasNoOwner: true,
    answer: PRICE,
    more: {
      ...NOT_FOUND,
      409: refusal(
        'The file was written again meanwhile; it has no price by this.',
        'the file was written again meanwhile',
        ['Retry-After'],
      ),
      ...TAKEN_DOWN,
    },
  })
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
  @Describes('hubRemovePrice', 'Takes a price away. Signed by its owner.', {
    query: PricedFileDto,
    answer: PRICE,
    more: NOT_FOUND,
  })
  remove(@Owner() owner: string, @RequestFields() { file }: PricedFileDto): Promise<object> {
    return this.#clear({ owner, id: file });
  }

  @Get('price')
  @Access('anyone')
  @Describes('hubPrice', 'What a file costs.', {
    query: PricedFileDto,
    answer: PRICE,
    more: NOT_FOUND,
  })
  async of(@Owner() owner: string, @RequestFields() { file }: PricedFileDto): Promise<object> {
    return priceView(await this.pricing.of({ owner, id: file }));
  }

  async #clear(name: ObjectName): Promise<object> {
    await this.pricing.clear(name);
    return { owner: name.owner, file: name.id, amount: '0' };
  }
}
