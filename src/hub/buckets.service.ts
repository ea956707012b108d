import { Inject, Injectable } from '@nestjs/common';
import { HubStats } from './hub-stats.js';
import { HubIndex } from './index/hub-index.js';
import { HubListing } from './index/hub-listing.js';
import type { Bucket } from './index/listing-steps.js';
import { HubLimits } from './limits/hub-limits.service.js';
import { isShortName, NAME_MAX_BYTES } from './names.js';
import { StorageProvider } from './storage/storage-provider.js';
import { HubRefusal } from './wire/hub-refusal.js';

/** Limit of files of a bucket that one request removes, and how many at a time. */
const REMOVED_MOST = 10_000;
const REMOVED_AT_ONCE = 200;

/** Creates and removes buckets. A bucket's name belongs to its owner: two owners may use the same name. */
@Injectable()
export class HubBuckets {
  constructor(
    @Inject(StorageProvider) private readonly storage: StorageProvider,
    private readonly index: HubIndex,
    private readonly listing: HubListing,
    private readonly limits: HubLimits,
    private readonly stats: HubStats,
  ) {}

  /** @throws HubRefusal 404 for an unknown bucket. */
  async find(owner: string, bucket: string): Promise<Bucket> {
    const found = await this.listing.bucket(owner, bucket);
    if (found === undefined) throw HubRefusal.notFound(`no such bucket: ${bucket}`);
    return found;
  }

  /**
   * Creates a bucket that stays when it is empty. A repeat changes nothing.
   *
   * @returns whether it is new.
   * @throws HubRefusal 409 for a bucket of another kind. Of two concurrent requests the first in the journal wins.
   */
  async create(owner: string, bucket: string, kind: string): Promise<boolean> {
    assertName('owner', owner);
    assertName('bucket', bucket);
    const known = await this.listing.bucket(owner, bucket);
    if (known !== undefined) assertKind(known, kind);
    if (known?.isMade === true) return false;
    const end = await this.limits.beginBucket(owner);
    try {
      await this.storage.note({ op: 'bucket', owner, id: '', bucket, kind, state: 'made' });
    } finally {
      end();
    }
    const made = await this.listing.bucket(owner, bucket);
    if (made === undefined) throw HubRefusal.busy('the bucket was removed meanwhile');
    assertKind(made, kind);
    return known === undefined;
  }

  /**
   * Removes the files of a bucket one by one, and then the bucket. A repeat continues an interrupted removal. A
   * concurrent upload of the same key stays.
   *
   * @throws HubRefusal 404 for an unknown bucket; 409 where the bucket has more files than one request removes.
   */
  async remove(owner: string, bucket: string): Promise<void> {
    await this.find(owner, bucket);
    this.index.assertSound();
    for (let left = REMOVED_MOST; left > 0; left -= REMOVED_AT_ONCE) {
      const page = { offset: 0, length: REMOVED_AT_ONCE };
      const { files } = await this.listing.files(owner, bucket, page);
      if (files.length === 0) {
        await this.storage.note({ op: 'bucket', owner, id: '', bucket, kind: '', state: 'gone' });
        return;
      }
      await Promise.all(
        files.map(async ({ id, order }) => {
          // The removal up to an order spares a file that is for sale.
          const isPriced = (await this.index.lookUp(owner, id))?.terms !== undefined;
          if (isPriced) await this.storage.note({ op: 'price', owner, id, terms: '' });
          await this.storage.note({ op: 'remove', owner, id, upTo: order });
          this.stats.note('remove');
        }),
      );
    }
    throw HubRefusal.busy(
      `${REMOVED_MOST} files of the bucket were removed; repeat the request to remove the rest`,
    );
  }
}

function assertKind(bucket: Bucket, kind: string): void {
  if (bucket.kind === kind) return;
  throw HubRefusal.conflict(`bucket kind is immutable (${bucket.kind}); cannot change to ${kind}`);
}

function assertName(place: 'owner' | 'bucket', name: string): void {
  if (isShortName(place, name)) return;
  throw HubRefusal.malformed(`${place} is longer than ${NAME_MAX_BYTES[place]} bytes of JSON`);
}
