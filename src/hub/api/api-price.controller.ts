import { type CanActivate, Delete, Get, Injectable, Put } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { RequireScope } from '../../platform/http/access.js';
import { jsonAnswer, schemaRef } from '../../platform/http/openapi.js';
import { Describes, NOT_FOUND, refusal, TAKEN_DOWN } from '../hub.openapi.js';
import { priceView, readPrice } from '../sales/price.js';
import { PricingService } from '../sales/pricing.service.js';
import type { ObjectName } from '../storage/storage-provider.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { HubPrice } from './hub.response.js';
import { Access, HubApi, Owner, RequestFields } from './hub-request.js';
import { PricedFileDto } from './hub-requests.dto.js';

const PRICE = jsonAnswer('The price of the file.', HubPrice);

/** A hub without sales answers so before it authenticates. */
@Injectable()
class SellingGuard implements CanActivate {
  constructor(private readonly pricing: PricingService) {}

  canActivate(): boolean {
    this.pricing.assertSelling();
    return true;
  }
}

/** Prices of files. Owners set them with a strict signature, in any hub; reading is public. */
@HubApi(SellingGuard)
@RequireScope('hub')
export class ApiPriceController {
  constructor(private readonly pricing: PricingService) {}

  @Put('price')
  @Access('strict')
  @ApiBody({ schema: schemaRef('HubPriceWanted') })
  @Describes('hubSetPrice', 'Sets the price of a file. Signed by its owner.', {
    hasNoOwner: true,
    answer: PRICE,
    more: {
      ...NOT_FOUND,
      409: refusal(
        'The file was written again meanwhile, so the price was not set.',
        'the file was written again meanwhile',
        ['Retry-After'],
      ),
      ...TAKEN_DOWN,
    },
  })
  async set(
    @Owner() owner: string,
    @RequestFields() { file, fields }: PricedFileDto,
  ): Promise<HubPrice> {
    const name = { owner, id: file };
    const amount = fields.get('amount');
    if (amount === 0 || amount === '0') return this.#clear(name);
    const read = readPrice(Object.fromEntries(fields));
    if (!read.ok) throw HubRefusal.malformed(read.problem);
    return priceView(await this.pricing.set(name, read.price));
  }

  @Delete('price')
  @Access('strict')
  @Describes('hubRemovePrice', 'Removes the price of a file. Signed by its owner.', {
    query: PricedFileDto,
    answer: PRICE,
    more: NOT_FOUND,
  })
  remove(@Owner() owner: string, @RequestFields() { file }: PricedFileDto): Promise<HubPrice> {
    return this.#clear({ owner, id: file });
  }

  @Get('price')
  @Access('anyone')
  @Describes('hubPrice', 'The price of a file.', {
    query: PricedFileDto,
    answer: PRICE,
    more: NOT_FOUND,
  })
  async of(@Owner() owner: string, @RequestFields() { file }: PricedFileDto): Promise<HubPrice> {
    return priceView(await this.pricing.of({ owner, id: file }));
  }

  async #clear(name: ObjectName): Promise<HubPrice> {
    await this.pricing.clear(name);
    return { owner: name.owner, file: name.id, amount: '0' };
  }
}
