import type { HubListing } from '../index/hub-listing.js';
import type { Bucket, Named, Page } from '../index/listing-steps.js';
import { priceOf } from '../sales/price.js';
import type { ObjectName, StoredObject, Takedown } from '../storage/storage-provider.js';

interface ListQuery {
  /** Empty for any. */
  readonly owner: string;
  readonly bucket: string;
  readonly name: string;
  readonly conversation: string;
  readonly page: Page;
}

export type Row = Readonly<Record<string, unknown>>;
export type List = (listing: HubListing, query: ListQuery) => Promise<readonly Row[]>;

/** The rows of the original, with the fields its clients read. It numbers rows by their database; these
 * have no number. */
const NO_NUMBER = { ID: 0, DeletedAt: null };
/** The hub submits nothing to a chain. */
const NO_CHAIN = { Piece: '', ChainType: '', TxHash: '' };

export const listAccounts: List = async (listing, { owner, name, page }) => {
  const wanted = owner || name;
  const found = wanted === '' ? await listing.accounts(page) : await listing.account(wanted);
  return found.map(accountRow);
};

export function accountRow({ name, since }: Named): Row {
  return { ...NO_NUMBER, ...times(since), Name: name };
}

export const listBuckets: List = async (listing, { owner, bucket, name, page }) => {
  if (owner === '') return [];
  const wanted = bucket || name;
  if (wanted === '') {
    const { buckets } = await listing.buckets(owner, page);
    return buckets.map((one) => bucketRow(owner, one));
  }
  const found = await listing.bucket(owner, wanted);
  return found === undefined ? [] : [bucketRow(owner, found)];
};

export function bucketRow(owner: string, { name, since, kind }: Bucket): Row {
  return { ...NO_NUMBER, ...times(since), Name: name, Owner: owner, Kind: kind };
}

export const listConversations: List = async (listing, { owner, name, conversation, page }) => {
  if (owner === '') return [];
  const wanted = name || conversation;
  const found: readonly Named[] =
    wanted === ''
      ? await listing.conversations(owner, page)
      : await listing.conversation(owner, wanted);
  const names = found.map((one) => one.name);
  const sizes = await listing.conversationSizes(owner, names);
  return found.map((one, index) => ({
    ...NO_NUMBER,
    ...times(one.since),
    Name: one.name,
    Owner: owner,
    Bucket: '',
    Count: sizes[index] ?? 0,
  }));
};

export const listNeedles: List = async (listing, query) => {
  const found = await needlesOf(listing, query);
  const takedowns = await listing.takedownsOf(found.map(({ sha256 }) => sha256));
  const byDigest = new Map(takedowns.map((one) => [one.sha256, one]));
  // The list of all owners' files has no prices, because each file has another owner.
  const terms = query.owner === '' ? [] : await listing.termsOf(query.owner, found);
  return found.map((object, at) => ({
    ...needleRow(object, byDigest.get(object.sha256)),
    ContentType: typeOf(object),
    ...priceIn(terms[at], object),
  }));
};

/** The payloads of a name, newest first, with their digests. */
export async function versionRows(listing: HubListing, name: ObjectName): Promise<readonly Row[]> {
  const found = await listing.versions(name);
  const takedowns = await listing.takedownsOf(found.map(({ sha256 }) => sha256));
  const byDigest = new Map(takedowns.map((one) => [one.sha256, one]));
  return found.map((object, at) => ({
    ...needleRow(object, byDigest.get(object.sha256)),
    Sha256: object.sha256,
    ContentType: typeOf(object),
    IsNewest: at === 0,
  }));
}

export const listVolumes: List = async (listing, { owner, page }) => {
  if (owner === '') return [];
  const found = await listing.volumes(owner, page);
  return found.map(({ volume }) => ({ ...NO_NUMBER, ...NO_CHAIN, Owner: owner, File: volume }));
};

async function needlesOf(listing: HubListing, query: ListQuery): Promise<readonly StoredObject[]> {
  const { owner, bucket, name, conversation, page } = query;
  if (owner === '') {
    return name === '' ? (await listing.recent(page)).files : listing.objectsNamed(name, page);
  }
  if (name !== '') return listing.object(owner, name);
  if (conversation !== '') return listing.members(owner, conversation, page);
  return (await listing.files(owner, bucket, page)).files;
}

function needleRow(
  { id, owner, bucket, kind, volume, start, size, order }: StoredObject,
  takedown: Takedown | undefined,
): Row {
  return {
    CreatedAt: isoTime(order),
    Name: id,
    Owner: owner,
    Bucket: bucket,
    Kind: kind,
    File: volume,
    Start: start,
    Size: size,
    ...NO_CHAIN,
    ...(takedown && { TakenDown: isoTime(takedown.order), Reason: takedown.reason }),
  };
}

/** The type sent for a file without one. */
function typeOf({ contentType = 'text/plain' }: StoredObject): string {
  return contentType;
}

function priceIn(terms: string | undefined, object: StoredObject): Row {
  if (terms === undefined) return {};
  const { network, asset, amount, until } = priceOf(terms, object);
  return { Price: { network, asset, amount: amount.toString(), ...(until && { until }) } };
}

function times(since: number): Row {
  return { CreatedAt: isoTime(since), UpdatedAt: isoTime(since) };
}

export function isoTime(microseconds: number): string {
  return new Date(Math.floor(microseconds / 1000)).toISOString();
}
