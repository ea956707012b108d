import { Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { RequireScope } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { canonicalOwner } from '../auth/caller.js';
import { HubAccess } from '../auth/hub-access.service.js';
import {
  Describes,
  DOWNLOADED,
  IN_PARTS,
  NAME_IN_PATH,
  NOT_FOUND,
  OWNER_IN_PATH,
  TAKEN_DOWN,
  TakesPayments,
} from '../hub.openapi.js';
import { descriptorOf, HubService } from '../hub.service.js';
import type { NamedObject } from '../index/hub-index.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { priceOf } from '../sales/price.js';
import { SalesService } from '../sales/sales.service.js';
import type { StoredObject } from '../storage/storage-provider.js';
import { FORM_MAX_BYTES, readBody } from '../wire/body-reader.js';
import { isDisplayed } from '../wire/display.js';
import { type Fields, readFormFields, textOf } from '../wire/fields.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { sendPayload } from '../wire/payload-response.js';
import { HubApi, readDto } from './hub-request.js';
import { BytesDto, DownloadDto, nameIn } from './hub-requests.dto.js';

/** Payloads that are sent in more than one go. */
const LONG_BYTES = 65_536;

const UNSERVED = { ...NOT_FOUND, ...TAKEN_DOWN };
const PRICED = jsonAnswer(
  'It has a price; `PAYMENT-REQUIRED` says the same.',
  'HubPaymentRequired',
);

/** A name with a price. */
type PricedObject = NamedObject & { readonly terms: string };

@HubApi()
@RequireScope('hub')
export class ApiDownloadController {
  constructor(
    private readonly config: AppConfig,
    private readonly hub: HubService,
    private readonly access: HubAccess,
    private readonly limits: HubLimits,
    private readonly sales: SalesService,
  ) {}

  /** HEAD, too. */
  @Get('download')
  @Describes('hubDownload', 'Serves what was stored. Knows ranges and ETags.', {
    query: DownloadDto,
    answer: DOWNLOADED,
    more: { ...IN_PARTS, 402: PRICED, ...UNSERVED },
  })
  @TakesPayments()
  download(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, Buffer.alloc(0));
  }

  /** The same for clients, and catalogues, that go by the path. */
  @Get('download/:owner/:name')
  @ApiParam(OWNER_IN_PATH)
  @ApiParam(NAME_IN_PATH)
  @Describes('hubDownloadByPath', 'The same, by its path; offers of files for sale name it.', {
    query: BytesDto,
    hasNoOwner: true,
    answer: DOWNLOADED,
    more: { ...IN_PARTS, 402: PRICED, ...UNSERVED },
  })
  @TakesPayments()
  downloadByPath(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#answer(request, response, Buffer.alloc(0));
  }

  @Post('download')
  @HttpCode(200)
  @Describes('hubDownloadByForm', 'Serves what was stored.', {
    isForm: true,
    answer: DOWNLOADED,
    more: {
      402: jsonAnswer('It has a price; it is bought by GET.', 'HubPaymentRequired'),
      ...UNSERVED,
    },
  })
  async downloadByForm(@Req() request: Request, @Res() response: Response): Promise<void> {
    const body = await readBody(request, FORM_MAX_BYTES);
    await this.#answer(request, response, body);
  }

  async #answer(request: Request, response: Response, body: Buffer): Promise<void> {
    response.setHeader('Vary', 'Accept');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    const fields = new Map([
      ...readFormFields(body, request.query),
      ...Object.entries(request.params),
    ]);
    if (await this.#isAnsweredAsSold(request, response, fields, body)) return;
    const caller = await this.access.callerOf(request, 'read');
    caller.assertBody(body);
    const owner = caller.ownerOfRead(textOf(fields, 'owner'));
    await this.limits.takeSigner(caller, response);
    const { name: id, display, download, sha256 } = readDto(DownloadDto, fields);
    const named = await this.hub.find(owner === '' ? undefined : owner, id);
    const { object, terms } = named;
    // A name without an owner may stand for what somebody sells.
    if (terms !== undefined && caller.signer !== object.owner) {
      await this.#sell(request, response, { ...named, terms }, body);
      return;
    }
    const chosen = await this.#chosen(named, sha256);
    const isDescriptor = isDisplayed({
      method: request.method,
      accept: request.headers.accept,
      display,
      download,
    });
    if (isDescriptor) sendJson(response, 200, descriptorOf(chosen));
    else await this.#send(request, response, chosen);
  }

  /** @param sha256 - of a version; empty for the newest. @throws HubRefusal */
  async #chosen(named: NamedObject, sha256: string): Promise<StoredObject> {
    if (sha256 === '') {
      this.hub.assertServed(named, named.object);
      return named.object;
    }
    const version = await this.hub.findVersion(named.object, digestIn(sha256));
    await this.hub.assertBytesServed(version);
    return version;
  }

  /**
   * What has a price is read by who has paid, also where reading is the owner's alone.
   *
   * @returns whether the request was answered.
   */
  async #isAnsweredAsSold(
    request: Request,
    response: Response,
    fields: Fields,
    body: Buffer,
  ): Promise<boolean> {
    const [owner, id] = [canonicalOwner(textOf(fields, 'owner')), nameIn(fields)];
    if (this.config.hub.sales === undefined || owner === '') return false;
    const named = await this.hub.lookUp(owner, id);
    if (named?.terms !== undefined) {
      await this.#sell(request, response, { ...named, terms: named.terms }, body);
      return true;
    }
    const sold = await this.sales.openSold(request, response, { owner, id });
    if (typeof sold === 'object') {
      await this.hub.assertBytesServed(sold);
      await this.#send(request, response, sold);
    }
    return sold !== undefined;
  }

  async #sell(
    request: Request,
    response: Response,
    named: PricedObject,
    body: Buffer,
  ): Promise<void> {
    const price = priceOf(named.terms, named.object);
    // Nobody pays for what will not be sent; who has bought other bytes before is judged by those.
    const assertServed = (): void => {
      this.hub.assertServed(named, price.object);
    };
    // All of it is read before a payment is settled.
    const isLong =
      price.object.size > LONG_BYTES && request.headers['payment-signature'] !== undefined;
    const release = isLong ? this.limits.takeStream(request, response) : () => undefined;
    let object: StoredObject | undefined;
    try {
      object = await this.sales.open(request, response, { price, assertServed }, body);
    } finally {
      release();
    }
    if (object === undefined) return;
    // What somebody bought before may be other bytes than those that are sold now.
    await this.hub.assertBytesServed(object);
    await this.#send(request, response, object);
  }

  async #send(request: Request, response: Response, object: StoredObject): Promise<void> {
    // Short ones are out of memory before the next request comes.
    if (object.size > LONG_BYTES) this.limits.takeStream(request, response);
    await sendPayload(request, response, object, (from, length) =>
      this.hub.read(object, from, length),
    );
  }
}

/** @throws HubRefusal */
function digestIn(text: string): string {
  const digest = text.toLowerCase().replace(/^0x/, '');
  if (!/^[0-9a-f]{64}$/.test(digest)) throw HubRefusal.malformed('sha256 must be 64 hex digits');
  return digest;
}
