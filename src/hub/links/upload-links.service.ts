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

/** An earlier upload through the same link has stored these bytes already. */
class AlreadyStored extends Error {
  constructor(readonly object: StoredObject) {
    super('the bytes are stored already');
  }
}

/**
 * Upload links: an owner's signature that lets its bearer store one file under one name of that owner, once. The hub
 * makes and stores no links; it remembers used ones.
 */
@Injectable()
export class UploadLinks {
  /** Links for which this process is receiving a body: of a hundred concurrent requests only one is received. */
  readonly #underWay = new Set<string>();

  constructor(
    private readonly config: AppConfig,
    @Inject(RecoverHubSigner) private readonly recover: RecoverSigner,
    private readonly store: UploadStore,
    private readonly listing: HubListing,
    private readonly hub: HubService,
  ) {}

  /**
   * The link of a request, if it may be used now.
   *
   * @param text - from the URL.
   * @throws HubRefusal, RedisUnavailableError
   */
  async open(text: string): Promise<UploadLink> {
    const link = this.#signed(text);
    // Where keys are required, anybody could otherwise let others in with a link of a new owner.
    if (!isOpenFor('hub', this.config.access)) {
      const { bytes } = await this.listing.usageOf(link.owner);
      if (bytes === 0) throw HubRefusal.notFound('this owner has stored nothing here');
    }
    assertOpen(await this.store.state(link, nowSeconds()));
    return link;
  }

  /**
   * Stores the upload of a link. The link is used up when the bytes are complete and valid. If storing fails, the same
   * bytes may be sent again.
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
   * Revokes a link. Idempotent.
   *
   * @param owner - the caller.
   * @throws HubRefusal when it is another owner's link, or this owner has used too many.
   */
  async revoke(owner: string, text: string): Promise<void> {
    const link = this.#signed(text, 'over too');
    if (link.owner !== owner) throw HubRefusal.forbidden('only the owner of a link can revoke it');
    const now = nowSeconds();
    if (link.until > now && (await this.store.revoke(link, now)) === 'full') throw fullRefusal();
  }

  /**
   * Revokes all upload links of an owner, even one without stored files.
   *
   * @returns the time of issue up to which they are revoked, Unix seconds.
   * @throws RedisUnavailableError
   */
  takeAllBack(owner: string): Promise<number> {
    return this.store.takeAllBack(owner, nowSeconds());
  }

  /**
   * Revokes every link of a family.
   *
   * @throws HubRefusal for an invalid family, or when this owner has used too many.
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
        throw HubRefusal.malformed('the SHA-256 of the bytes differs from the one in the link');
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

  /** A refused upload was not stored; after any other failure that is unknown. */
  async #leaveFailed(
    link: UploadLink,
    by: string,
    begun: UploadState,
    error: unknown,
  ): Promise<void> {
    const isNothing = begun === 'open' && error instanceof HubRefusal;
    // If Redis is unreachable too, the lease of the upload expires.
    await this.store.leave(link, by, isNothing ? 'nothing' : 'unknown').catch(() => undefined);
  }

  /** @throws AlreadyStored */
  async #assertNotStored({ owner, name }: UploadLink, sha256: string): Promise<void> {
    const named = await this.hub.lookUp(owner, name);
    if (named?.object.sha256 === sha256) throw new AlreadyStored(named.object);
  }

  #signed(text: string, whichTimes: 'good' | 'over too' = 'good'): UploadLink {
    const { address: hub } = this.config.hub;
    if (hub === zeroAddress)
      throw HubRefusal.forbidden('this hub has no HUB_ADDRESS, so it accepts no links');
    const link = readUploadLink(text);
    if (link === undefined) throw HubRefusal.malformed('link is not an upload link');
    const verdict = verifyUploadLink(link, { hub, recover: this.recover, now: nowSeconds() });
    if (verdict.kind === 'bad') throw HubRefusal.unauthorized(`verify link: ${verdict.message}`);
    if (verdict.kind === 'over' && whichTimes === 'good')
      throw HubRefusal.gone('the link has expired');
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
      throw HubRefusal.gone('the link was used or revoked');
    case 'void':
      throw HubRefusal.gone(
        'the link was revoked, or is too old for this hub: ask the owner for a new link',
      );
  }
}

function busyRefusal(): HubRefusal {
  return HubRefusal.busy('an upload with this link is in progress');
}

function fullRefusal(): HubRefusal {
  return HubRefusal.forbidden(
    'this owner has too many upload links that were used or revoked and have not expired; try again later',
  );
}

/** A stream whose digest is known at its end. */
class HashedPieces implements AsyncIterable<Uint8Array> {
  readonly #hash: Hash = createHash('sha256');

  constructor(private readonly pieces: AsyncIterable<Uint8Array>) {}

  /** Hex. Call it once, after all bytes have passed. */
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
