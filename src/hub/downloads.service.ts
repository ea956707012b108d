import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../platform/config/app-config.js';
import { sendJson } from '../platform/http/json.js';
import { type Caller, canonicalOwner } from './auth/caller.js';
import { descriptorOf, HubService } from './hub.service.js';
import type { NamedObject } from './index/hub-index.js';
import { HubListing } from './index/hub-listing.js';
import { HubLimits } from './limits/hub-limits.service.js';
import { priceOf } from './sales/price.js';
import { SalesService } from './sales/sales.service.js';
import type { StoredObject } from './storage/storage-provider.js';
import { HubRefusal } from './wire/hub-refusal.js';
import { sendPayload } from './wire/payload-response.js';

/** Payloads that are sent in several pieces. */
const LONG_BYTES = 65_536;
/** Limit of owners of one name whose files are compared with the requested bucket. */
const NAMESAKES_MOST = 32;

/** A name with a price. */
type PricedObject = NamedObject & { readonly terms: string };

/** A file to read. */
interface Download {
  /** As sent; empty for any. */
  readonly owner: string;
  readonly id: string;
  /** Bucket of the file; absent for any. */
  readonly bucket?: string;
  /** Digest of a version; empty for the newest. */
  readonly sha256?: string;
  /** Sends the place of the file instead of its bytes. */
  readonly isDescriptor?: boolean;
  /** Media type of a file stored without one; `text/plain` where absent. */
  readonly usualType?: string;
  readonly body: Buffer;
  /** Called for a file without a price. @throws HubRefusal where the caller may not read. */
  readonly caller: () => Promise<Caller>;
}

/** Serves files to callers who may read them or have paid for them. */
@Injectable()
export class Downloads {
  constructor(
    private readonly config: AppConfig,
    private readonly hub: HubService,
    private readonly listing: HubListing,
    private readonly limits: HubLimits,
    private readonly sales: SalesService,
  ) {}

  async answer(request: Request, response: Response, asked: Download): Promise<void> {
    response.setHeader('Vary', 'Accept');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    if (await this.#isAnsweredAsSold(request, response, asked)) return;
    const caller = await asked.caller();
    caller.assertBody(asked.body);
    const owner = caller.ownerOfRead(asked.owner);
    await this.limits.takeSigner(caller, response);
    const named = await this.find(owner, asked);
    const { object, terms } = named;
    // A name without an owner may find a file with a price.
    if (terms !== undefined && caller.signer !== object.owner) {
      await this.#sell(request, response, { ...named, terms }, asked);
      return;
    }
    const chosen = await this.#chosen(named, asked.sha256 ?? '');
    if (asked.isDescriptor === true) sendJson(response, 200, descriptorOf(chosen));
    else await this.#send(request, response, chosen, asked);
  }

  /**
   * The newest payload of a name, in its bucket.
   *
   * @param owner - in canonical form; empty for any.
   * @throws HubRefusal 404 for an unknown file.
   */
  async find(owner: string, { id, bucket }: Pick<Download, 'id' | 'bucket'>): Promise<NamedObject> {
    const named = await this.hub.find(owner === '' ? undefined : owner, id);
    if (bucket === undefined || named.object.bucket === bucket) return named;
    const page = { offset: 0, length: NAMESAKES_MOST };
    const namesakes = owner === '' ? await this.listing.objectsNamed(id, page) : [];
    const found = namesakes.find((object) => object.bucket === bucket);
    if (found === undefined) throw HubRefusal.notFound(`no such object ${bucket}/${id}`);
    return this.hub.find(found.owner, id);
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
   * A buyer may read a file with a price, even where only its owner may read.
   *
   * @returns whether the request was answered.
   */
  async #isAnsweredAsSold(request: Request, response: Response, asked: Download): Promise<boolean> {
    const [owner, id] = [canonicalOwner(asked.owner), asked.id];
    if (this.config.hub.sales === undefined || owner === '') return false;
    const named = await this.hub.lookUp(owner, id);
    // Bought bytes stay readable at their URL when the name moves to another bucket or is removed; they are not sold there.
    const isHere = asked.bucket === undefined || named?.object.bucket === asked.bucket;
    if (isHere && named?.terms !== undefined) {
      await this.#sell(request, response, { ...named, terms: named.terms }, asked);
      return true;
    }
    const sold = await this.sales.openSold(request, response, { owner, id });
    if (typeof sold === 'object') {
      await this.hub.assertBytesServed(sold);
      await this.#send(request, response, sold, asked);
    }
    return sold !== undefined;
  }

  async #sell(
    request: Request,
    response: Response,
    named: PricedObject,
    asked: Download,
  ): Promise<void> {
    const price = priceOf(named.terms, named.object);
    // A buyer never pays for bytes that are not served; earlier bought bytes are checked separately.
    const assertServed = (): void => {
      this.hub.assertServed(named, price.object);
    };
    // The whole file is read before a payment is settled.
    const isLong =
      price.object.size > LONG_BYTES && request.headers['payment-signature'] !== undefined;
    const release = isLong ? this.limits.takeStream(request, response) : () => undefined;
    let object: StoredObject | undefined;
    try {
      object = await this.sales.open(request, response, { price, assertServed }, asked.body);
    } finally {
      release();
    }
    if (object === undefined) return;
    // A buyer may have bought earlier bytes than the present ones.
    await this.hub.assertBytesServed(object);
    await this.#send(request, response, object, asked);
  }

  async #send(
    request: Request,
    response: Response,
    object: StoredObject,
    { usualType }: Download,
  ): Promise<void> {
    // Short payloads have left memory before the next request arrives.
    if (object.size > LONG_BYTES) this.limits.takeStream(request, response);
    const contentType = object.contentType ?? usualType;
    await sendPayload(request, response, { ...object, contentType }, (from, length) =>
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
