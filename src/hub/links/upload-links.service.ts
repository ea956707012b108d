import { createHash, type Hash, randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { zeroAddress } from 'viem';
import { isOpenFor } from '../../platform/config/access-settings.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { RecoverHubSigner } from '../auth/hub-access.service.js';
import type { RecoverSigner } from '../auth/hub-signature.js';
import { HubService } from '../hub.service.js';
import { HubListing } from '../index/hub-listing.js';
import { nowSeconds } from '../now-seconds.js';
import type { NewObject, StoredObject } from '../storage/storage-provider.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { assertFamily, isOfContent } from './signed-link.js';
import { readUploadLink, type UploadLink, verifyUploadLink } from './upload-link.js';
import { type UploadState, UploadStore } from './upload-store.js';

/** The bytes that an upload brings are there already: an earlier one by the same link has stored them. */
class AlreadyStored extends Error {
  constructor(readonly object: StoredObject) {
    super('the bytes are stored already');
  }
}

/**
 * Upload links: an owner's signature that lets its bearer store one file under one name of that
 * owner, once. The hub makes none and keeps none; it remembers those that were used.
 */
@Injectable()
export class UploadLinks {
  /** Links by which this process takes a body now: a link that is shown a hundred times at once spools one. */
  readonly #underWay = new Set<string>();

  constructor(
    private readonly config: AppConfig,
    @Inject(RecoverHubSigner) private readonly recover: RecoverSigner,
    private readonly store: UploadStore,
    private readonly listing: HubListing,
    private readonly hub: HubService,
  ) {}

  /**
   * The link in a request, if it may be used now.
   *
   * @param text - as it stands in the address.
   * @throws HubRefusal, RedisUnavailableError
   */
  async open(text: string): Promise<UploadLink> {
    const link = this.#signed(text);
    // Where keys are asked for, anybody could else be let in by a link of an owner just made.
    if (!isOpenFor('hub', this.config.access)) {
      const { bytes } = await this.listing.usageOf(link.owner);
      if (bytes === 0) throw HubRefusal.notFound('this owner has stored nothing here');
    }
    assertOpen(await this.store.state(link, nowSeconds()));
    return link;
  }

  /**
   * Stores the upload of a link. The link is used up when the bytes are complete, and as the link
   * wants them. Where storing them fails, the same bytes may come again.
   *
   * @throws HubRefusal, StorageUnavailableError, IndexUnavailableError, RedisUnavailableError
   */
  async receive(
    link: UploadLink,
    contentType: string | undefined,
    pieces: AsyncIterable<Uint8Array>,
  ): Promise<StoredObject> {
    const key = `${link.owner}:${link.nonce}`;
    if (this.#underWay.has(key)) throw busyRefusal();
    this.#underWay.add(key);
    try {
      return await this.#receiveOne(link, contentType, new HashedPieces(pieces));
    } finally {
      this.#underWay.delete(key);
    }
  }

  /**
   * Takes a link back; one that is over, was used or taken back stays so.
   *
   * @param owner - who asks.
   * @throws HubRefusal when it is another's link, or too many of this owner were used.
   */
  async revoke(owner: string, text: string): Promise<void> {
    const link = this.#signed(text, 'over too');
    if (link.owner !== owner) throw HubRefusal.forbidden('only its owner takes a link back');
    const now = nowSeconds();
    if (link.until > now && (await this.store.revoke(link, now)) === 'full') throw fullRefusal();
  }

  /**
   * Takes back every upload link of an owner, whether it has stored anything or not.
   *
   * @returns until which time of issue, Unix seconds.
   * @throws RedisUnavailableError
   */
  takeAllBack(owner: string): Promise<number> {
    return this.store.takeAllBack(owner, nowSeconds());
  }

  /**
   * Takes back every link of a family.
   *
   * @throws HubRefusal for what names none; where too many of this owner were used.
   */
  async takeFamilyBack(owner: string, family: string): Promise<void> {
    assertFamily(family);
    const state = await this.store.voidFamily(owner, family, nowSeconds());
    if (state === 'full') throw fullRefusal();
  }

  async #receiveOne(
    link: UploadLink,
    contentType: string | undefined,
    pieces: HashedPieces,
  ): Promise<StoredObject> {
    const by = randomUUID();
    let begun: UploadState | undefined;
    const describe = async (): Promise<NewObject> => {
      const sha256 = pieces.sha256();
      if (!isOfContent(link, sha256)) {
        throw HubRefusal.malformed('the bytes are not those that the link was signed for');
      }
      const state = await this.store.begin(link, by, sha256, nowSeconds());
      assertOpen(state);
      begun = state;
      if (state === 'again') await this.#assertNotStored(link, sha256);
      const { owner, name: id } = link;
      return { owner, id, bucket: owner, kind: 'memory', ...(contentType && { contentType }) };
    };
    try {
      const stored = await this.hub.storeStream(describe, pieces, link.owner);
      await this.store.leave(link, by, 'stored');
      return stored;
    } catch (error) {
      if (error instanceof AlreadyStored) {
        await this.store.leave(link, by, 'stored');
        return error.object;
      }
      if (begun !== undefined) await this.#leaveFailed(link, by, begun, error);
      throw error;
    }
  }

  /** A refused upload was not stored; after any other failure that is not known. */
  async #leaveFailed(
    link: UploadLink,
    by: string,
    begun: UploadState,
    error: unknown,
  ): Promise<void> {
    const isNothing = begun === 'open' && error instanceof HubRefusal;
    // Where Redis is away, too, what was begun ends by itself.
    await this.store.leave(link, by, isNothing ? 'nothing' : 'unknown').catch(() => undefined);
  }

  /** @throws AlreadyStored */
  async #assertNotStored({ owner, name }: UploadLink, sha256: string): Promise<void> {
    const named = await this.hub.lookUp(owner, name);
    if (named?.object.sha256 === sha256) throw new AlreadyStored(named.object);
  }

  #signed(text: string, whichTimes: 'good' | 'over too' = 'good'): UploadLink {
    const { address: hub } = this.config.hub;
    if (hub === zeroAddress) throw HubRefusal.forbidden('this hub has no HUB_ADDRESS');
    const link = readUploadLink(text);
    if (link === undefined) throw HubRefusal.malformed('link is not an upload link');
    const verdict = verifyUploadLink(link, { hub, recover: this.recover, now: nowSeconds() });
    if (verdict.kind === 'bad') throw HubRefusal.unauthorized(`verify link: ${verdict.message}`);
    if (verdict.kind === 'over' && whichTimes === 'good') throw HubRefusal.gone('the link is over');
    return link;
  }
}

function assertOpen(state: UploadState): void {
  switch (state) {
    case 'open':
    case 'again':
      return;
    case 'busy':
      throw busyRefusal();
    case 'full':
      throw fullRefusal();
    case 'used':
      throw HubRefusal.gone('the link was used up or taken back');
    case 'void':
      throw HubRefusal.gone(
        'the link was taken back, or is older than what this hub remembers: ask for a new one',
      );
  }
}

function busyRefusal(): HubRefusal {
  return HubRefusal.busy('an upload by this link is under way');
}

function fullRefusal(): HubRefusal {
  return HubRefusal.forbidden(
    'too many upload links of this owner were used or taken back and are not over',
  );
}

/** A stream whose digest is known when it has ended. */
class HashedPieces implements AsyncIterable<Uint8Array> {
  readonly #hash: Hash = createHash('sha256');

  constructor(private readonly pieces: AsyncIterable<Uint8Array>) {}

  /** Hex. To be asked once, when all has gone by. */
  sha256(): string {
    return this.#hash.digest('hex');
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const piece of this.pieces) {
      this.#hash.update(piece);
      yield piece;
    }
  }
}
