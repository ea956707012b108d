import { Controller, Delete, Get, Put, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RequireScope } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { canonicalOwner } from '../auth/caller.js';
import { HubAccess } from '../auth/hub-access.service.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { priceView, readPrice } from '../sales/price.js';
import { PricingService } from '../sales/pricing.service.js';
import type { ObjectName } from '../storage/storage-provider.js';
import { FORM_MAX_BYTES, readBody } from '../wire/body-reader.js';
import { type Fields, readFormFields, textOf } from '../wire/fields.js';
import { HubErrorFilter } from '../wire/hub-error.filter.js';
import { HubRefusal } from '../wire/hub-refusal.js';

/** What files cost. Owners say it by their strict signature, in whatever hub; anybody may ask. */
@Controller('api')
@RequireScope('hub')
@UseFilters(HubErrorFilter)
export class ApiPriceController {
  constructor(
    private readonly pricing: PricingService,
    private readonly access: HubAccess,
    private readonly limits: HubLimits,
  ) {}

  @Put('price')
  async set(@Req() request: Request, @Res() response: Response): Promise<void> {
    const { name, fields } = await this.#signed(request, response);
    if (isNothing(fields.get('amount'))) {
      await this.#clear(name, response);
      return;
    }
    const read = readPrice(Object.fromEntries(fields));
    if (!read.ok) throw HubRefusal.malformed(read.problem);
    sendJson(response, 200, priceView(await this.pricing.set(name, read.price)));
  }

  @Delete('price')
  async remove(@Req() request: Request, @Res() response: Response): Promise<void> {
    const { name } = await this.#signed(request, response);
    await this.#clear(name, response);
  }

  @Get('price')
  async of(@Req() request: Request, @Res() response: Response): Promise<void> {
    await this.limits.takeAddress(request, response);
    this.pricing.assertSelling();
    const fields = readFormFields(Buffer.alloc(0), request.query);
    const owner = canonicalOwner(textOf(fields, 'owner'));
    const price = await this.pricing.of({ owner, id: fileIn(fields) });
    sendJson(response, 200, priceView(price));
  }

  async #clear(name: ObjectName, response: Response): Promise<void> {
    await this.pricing.clear(name);
    sendJson(response, 200, { owner: name.owner, file: name.id, amount: '0' });
  }

  async #signed(
    request: Request,
    response: Response,
  ): Promise<{ readonly name: ObjectName; readonly fields: Fields }> {
    await this.limits.takeAddress(request, response);
    this.pricing.assertSelling();
    const caller = await this.access.strictSignerOf(request);
    const body = await readBody(request, FORM_MAX_BYTES);
    caller.assertBody(body);
    const fields = readFormFields(body, request.query);
    const owner = caller.ownerOfRead(textOf(fields, 'owner'));
    await this.limits.takeSigner(caller, response);
    return { name: { owner, id: fileIn(fields) }, fields };
  }
}

/** @throws HubRefusal */
function fileIn(fields: Fields): string {
  const id = textOf(fields, 'file') || textOf(fields, 'name') || textOf(fields, 'id');
  if (id === '') throw HubRefusal.malformed('file is required');
  return id;
}

function isNothing(amount: unknown): boolean {
  return amount === 0 || amount === '0';
}
