import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../config/app-config.js';
import { DamagedObjectError } from './errors.js';
import { HubStats } from './hub-stats.js';
import { HubIndex } from './index/hub-index.js';
import { HubListing, type Page } from './index/hub-listing.js';
import { HubLimits } from './limits/hub-limits.service.js';
import {
  type NewObject,
  type ObjectName,
  StorageProvider,
  type StoredObject,
} from './storage/storage-provider.js';
import { verifiedRead } from './storage/verified-read.js';
import { HubRefusal } from './wire/hub-refusal.js';

/** What clients are told of a stored payload. */
export interface Descriptor {
  /** `<owner>/<volume>.log`, as the original names volumes. */
  readonly File: string;
  readonly Start: number;
  readonly Size: number;
}

/** Bytes of UTF-8 in an owner, a bucket, an id or a kind. */
const NAME_MAX_BYTES = 1024;

export function descriptorOf({ owner, volume, start, size }: StoredObject): Descriptor {
  return { File: `${owner}/${volume}.log`, Start: start, Size: size };
}

/** What the hub does, for every route alike. Owners come in their one form. */
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
    const release = await this.limits.reserve(object.owner, bytes.length);
    try {
      const stored = await this.storage.put(() => object, bytes);
      this.stats.note('upload', stored.size);
      return stored;
    } finally {
      release();
    }
  }

  /**
   * Stores what streams in.
   *
   * @param describe - asked when the stream has ended.
   */
  async storeStream(
    describe: () => Promise<NewObject>,
    pieces: AsyncIterable<Uint8Array>,
  ): Promise<StoredObject> {
    this.index.assertSound();
    const upload = new MeasuredPieces(pieces, this.config.hub.maxMultipartBytes);
    let release: (() => void) | undefined;
    const named = async (): Promise<NewObject> => {
      const object = await describe();
      if (upload.bytes === 0) throw HubRefusal.malformed('empty file');
      assertNames(object);
      // The size is known only now.
      release = await this.limits.reserve(object.owner, upload.bytes);
      return object;
    };
    try {
      const stored = await this.storage.put(named, upload);
      this.stats.note('upload', stored.size);
      return stored;
    } finally {
      release?.();
    }
  }

  /**
   * The newest payload of a name.
   *
   * @param owner - any when absent.
   * @throws HubRefusal when there is none.
   */
  async find(owner: string | undefined, id: string): Promise<StoredObject> {
    const object = await this.index.lookUp(owner, id);
    if (object === undefined) {
      throw HubRefusal.notFound(`no such file: ${id} at ${owner ?? ''}`);
    }
    return object;
  }

  /** A part of a payload, each piece verified before it is handed out. */
  async *read(object: StoredObject, from: number, length: number): AsyncGenerator<Uint8Array> {
    try {
      yield* verifiedRead(this.storage, object, from, length);
      this.stats.note('download', length);
    } catch (error) {
      if (error instanceof DamagedObjectError) this.stats.noteDamaged();
      throw error;
    }
  }

  /** @throws HubRefusal when there is none. */
  async remove(name: ObjectName): Promise<void> {
    await this.find(name.owner, name.id);
    await this.storage.remove(name);
    this.stats.note('remove');
  }

  /**
   * The texts of a conversation, in its order. A member that cannot be read is left out, as the original
   * did; files too long to have been messages are, too.
   */
  async *conversation(owner: string, conversation: string, page: Page): AsyncGenerator<string> {
    const members = await this.listing.members(owner, conversation, page);
    for (const member of members) {
      if (member.size > this.config.hub.maxJsonBytes) continue;
      const text = await this.#textOf(member);
      if (text !== undefined) yield text;
    }
  }

  async #textOf(object: StoredObject): Promise<string | undefined> {
    try {
      const pieces: Uint8Array[] = [];
      for await (const piece of this.read(object, 0, object.size)) pieces.push(piece);
      return Buffer.concat(pieces).toString('utf8');
    } catch (error) {
      if (!(error instanceof DamagedObjectError)) throw error;
      this.logger.error({ err: error }, 'a member of a conversation is left out');
      return undefined;
    }
  }
}

/** @throws HubRefusal */
function assertNames({ owner, bucket, id, kind }: NewObject): void {
  for (const [name, text] of Object.entries({ owner, bucket, id, kind })) {
    if (Buffer.byteLength(text) > NAME_MAX_BYTES) {
      throw HubRefusal.malformed(`${name} is longer than ${NAME_MAX_BYTES} bytes`);
    }
  }
}

/** A stream that knows how much went by, and ends with a refusal where it gets too long. */
class MeasuredPieces implements AsyncIterable<Uint8Array> {
  #bytes = 0;

  constructor(
    private readonly pieces: AsyncIterable<Uint8Array>,
    private readonly maxBytes: number,
  ) {}

  get bytes(): number {
    return this.#bytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const piece of this.pieces) {
      this.#bytes += piece.length;
      if (this.#bytes > this.maxBytes) throw HubRefusal.tooLarge();
      yield piece;
    }
  }
}
