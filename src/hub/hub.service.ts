import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../platform/config/app-config.js';
import type { HubDescriptor } from './api/hub.response.js';
import { DamagedObjectError } from './errors.js';
import { HubStats } from './hub-stats.js';
import { HubIndex, type NamedObject } from './index/hub-index.js';
import { HubListing } from './index/hub-listing.js';
import { type Page } from './index/listing-steps.js';
import { HubLimits } from './limits/hub-limits.service.js';
import type { Reservation } from './limits/reservation.js';
import { isShortName, NAME_MAX_BYTES } from './names.js';
import { type Price, priceOf, termsOf } from './sales/price.js';
import {
  type NewObject,
  type ObjectName,
  StorageProvider,
  type StoredObject,
  type Takedown,
} from './storage/storage-provider.js';
import { verifiedRead } from './storage/verified-read.js';
import { HubRefusal } from './wire/hub-refusal.js';

/** Bytes of a text that are converted to JSON at a time. */
const TEXT_PIECE_BYTES = 65_536;

export function descriptorOf({ owner, volume, start, size }: StoredObject): HubDescriptor {
  return { File: `${owner}/${volume}.log`, Start: start, Size: size };
}

/** Operations of the hub, the same for every route. Owners are in canonical form. */
@Injectable()
export class HubService {
  constructor(
    private readonly config: AppConfig,
    @Inject(StorageProvider) private readonly storage: StorageProvider,
    private readonly index: HubIndex,
    private readonly listing: HubListing,
    private readonly limits: HubLimits,
    private readonly stats: HubStats,
    private readonly logger: PinoLogger,
  ) {}

  /** @throws HubRefusal, StorageUnavailableError, IndexUnavailableError */
  async store(object: NewObject, bytes: Buffer): Promise<StoredObject> {
    assertNames(object);
    this.index.assertSound();
    const room = this.limits.begin(object.owner);
    try {
      // Until the answer, the memory of the body is counted elsewhere.
      await room.close(object, bytes.length);
      const stored = await this.storage.put(() => object, bytes);
      this.stats.note('upload', stored.size);
      return stored;
    } finally {
      room.end();
    }
  }

  /**
   * Stores a stream.
   *
   * @param describe - called at the end of the stream.
   * @param owner - where it is known before.
   */
  async storeStream(
    describe: () => Promise<NewObject>,
    pieces: AsyncIterable<Uint8Array>,
    owner: string | undefined,
    agreed: () => Promise<void> = () => Promise.resolve(),
  ): Promise<StoredObject> {
    this.index.assertSound();
    const room = this.limits.begin(owner);
    const upload = new MeasuredPieces(pieces, this.config.hub.maxMultipartBytes, room);
    const named = async (): Promise<NewObject> => {
      const object = await describe();
      if (upload.bytes === 0) throw HubRefusal.malformed('empty file');
      assertNames(object);
      await room.close(object);
      await agreed();
      return object;
    };
    try {
      const stored = await this.storage.put(named, upload);
      this.stats.note('upload', stored.size);
      return stored;
    } finally {
      room.end();
    }
  }

  /**
   * The newest payload of a name.
   *
   * @param owner - any when absent.
   * @throws HubRefusal when the name does not exist.
   */
  async find(owner: string | undefined, id: string): Promise<NamedObject> {
    const named = await this.lookUp(owner, id);
    if (named === undefined) {
      throw HubRefusal.notFound(`no such file: ${id} at ${owner ?? ''}`);
    }
    return named;
  }

  /**
   * One of the present or earlier payloads of a name.
   *
   * @param sha256 - hex.
   * @throws HubRefusal when it is not, or no longer, one of them.
   */
  async findVersion(name: ObjectName, sha256: string): Promise<StoredObject> {
    const versions = await this.listing.versions(name);
    const found = versions.find((one) => one.sha256 === sha256);
    if (found === undefined) {
      throw HubRefusal.notFound(`no such version: ${sha256} of ${name.id} at ${name.owner}`);
    }
    return found;
  }

  /** As {@link find}; `undefined` when the name does not exist. */
  lookUp(owner: string | undefined, id: string): Promise<NamedObject | undefined> {
    return this.index.lookUp(owner, id);
  }

  /**
   * Whether these bytes may be sent. Answers in progress continue.
   *
   * @throws HubRefusal where the operator has taken them down.
   */
  assertServed({ takedowns }: Pick<NamedObject, 'takedowns'>, { sha256 }: StoredObject): void {
    const takedown = takedowns.find((one) => one.sha256 === sha256);
    if (takedown !== undefined) throw HubRefusal.takenDown(takedown.reason);
  }

  /** The same for bytes without a present name. @throws HubRefusal */
  async assertBytesServed(object: StoredObject): Promise<void> {
    const takedowns = await this.listing.takedownsOf([object.sha256]);
    this.assertServed({ takedowns }, object);
  }

  /** Removes one payload of a name; a newer one stays. */
  async expire({ owner, id, order }: StoredObject): Promise<void> {
    await this.storage.note({ op: 'remove', owner, id, upTo: order });
    this.stats.note('remove');
  }

  /** @param days - for which an owner's payloads can be found; 0 without limit. */
  async setRetention(owner: string, days: number): Promise<void> {
    this.index.assertSound();
    await this.storage.note({ op: 'retention', owner, id: '', days });
  }

  /**
   * Stops serving these bytes, or serves them again. The change is durable when this resolves, and applies in every
   * process.
   */
  async noteTakedown(takedown: Omit<Takedown, 'order'>): Promise<void> {
    this.index.assertSound();
    await this.storage.note(takedown);
  }

  /** The price of a name; `undefined` for a missing or free file. */
  async priceOf(owner: string, id: string): Promise<Price | undefined> {
    const named = await this.lookUp(owner, id);
    return named?.terms === undefined ? undefined : priceOf(named.terms, named.object);
  }

  /** @param price - `undefined` removes it. */
  async setPrice(name: ObjectName, price: Price | undefined): Promise<void> {
    this.index.assertSound();
    const terms = price === undefined ? '' : termsOf(price);
    await this.storage.note({ op: 'price', owner: name.owner, id: name.id, terms });
  }

  /** Removes this price, but no later one. */
  async withdrawPrice({ owner, id }: ObjectName, price: Price): Promise<void> {
    const withdraws = createHash('sha1').update(termsOf(price)).digest('hex');
    await this.storage.note({ op: 'price', owner, id, terms: '', withdraws });
  }

  /** A part of a payload, each piece verified before it is returned. */
  async *read(object: StoredObject, from: number, length: number): AsyncGenerator<Uint8Array> {
    try {
      yield* verifiedRead(this.storage, object, from, length);
      this.stats.note('download', length);
    } catch (error) {
      if (error instanceof DamagedObjectError) this.stats.noteDamaged();
      throw error;
    }
  }

  /** @throws HubRefusal when the name does not exist. */
  async remove(name: ObjectName): Promise<void> {
    await this.find(name.owner, name.id);
    await this.storage.note({ op: 'remove', owner: name.owner, id: name.id });
    this.stats.note('remove');
  }

  /**
   * The texts of a conversation in order, as a JSON array in pieces: a few members and one block of a payload are in
   * memory at a time. Left out are members whose beginning cannot be read, as in the original, files too long for a
   * message, and files that were taken down.
   *
   * @param isOwn - whether the owner asks; other callers do not get files with a price.
   * @throws DamagedObjectError where a later part of a text cannot be read.
   */
  async *conversation(
    { owner, id: conversation }: ObjectName,
    page: Page,
    isOwn: boolean,
  ): AsyncGenerator<string> {
    let before = '[';
    for await (const named of this.listing.eachMember(owner, conversation, page)) {
      const { object: member, terms, takedowns } = named;
      if ((terms !== undefined && !isOwn) || takedowns.length > 0) continue;
      if (member.size > this.config.hub.maxJsonBytes) continue;
      const pieces = this.#jsonText(member);
      const first = await this.#firstOf(pieces);
      if (first === undefined) continue;
      yield `${before}"${first}`;
      yield* pieces;
      yield '"';
      before = ',';
    }
    yield before === '[' ? '[]' : ']';
  }

  /** A text as it stands in JSON, without its quotes. */
  async *#jsonText(object: StoredObject): AsyncGenerator<string> {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    for await (const block of this.read(object, 0, object.size)) {
      for (let at = 0; at < block.length; at += TEXT_PIECE_BYTES) {
        const piece = block.subarray(at, at + TEXT_PIECE_BYTES);
        yield escaped(decoder.decode(piece, { stream: true }));
      }
    }
    yield escaped(decoder.decode());
  }

  async #firstOf(pieces: AsyncGenerator<string>): Promise<string | undefined> {
    try {
      const first = await pieces.next();
      return first.done === true ? undefined : first.value;
    } catch (error) {
      if (!(error instanceof DamagedObjectError)) throw error;
      this.logger.error(
        { err: error },
        'could not read a file of a conversation; the answer leaves it out',
      );
      return undefined;
    }
  }
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** @throws HubRefusal */
function assertNames({ owner, bucket, id, kind }: NewObject): void {
  const names = { owner, bucket, id, kind };
  for (const place of ['owner', 'bucket', 'id', 'kind'] as const) {
    if (!isShortName(place, names[place])) {
      throw HubRefusal.malformed(`${place} is longer than ${NAME_MAX_BYTES[place]} bytes of JSON`);
    }
  }
}

/** A stream that counts its bytes, and ends with a refusal when it gets too long or there is no space. */
class MeasuredPieces implements AsyncIterable<Uint8Array> {
  #bytes = 0;

  constructor(
    private readonly pieces: AsyncIterable<Uint8Array>,
    private readonly maxBytes: number,
    private readonly room: Reservation,
  ) {}

  get bytes(): number {
    return this.#bytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const piece of this.pieces) {
      this.#bytes += piece.length;
      if (this.#bytes > this.maxBytes) throw HubRefusal.tooLarge();
      await this.room.arrive(piece.length);
      yield piece;
    }
  }
}
