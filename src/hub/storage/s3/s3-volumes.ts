import { StorageUnavailableError } from '../../errors.js';
import type { PlacedPayload, VolumeWriter } from '../group-commit.js';
import { firstVolumeOf, folderOf } from '../owner-folder.js';
import { padded, type Place, VOLUME_BYTES } from '../storage-provider.js';
import type { S3Objects } from './s3-objects.js';

const VOLUME_DIGITS = 12;
const START_DIGITS = 12;
/** Owners whose volume this process goes on with; the volume of one that is forgotten is not continued. */
const REMEMBERED_MAX = 10_000;
/** How many numbers are tried when other processes claim them at the same moment. */
const CLAIMS_MAX = 50;

const number = (value: number, digits: number): string => String(value).padStart(digits, '0');

function volumePrefix(owner: string, volume: number): string {
  return `volumes/${folderOf(owner)}/${number(volume, VOLUME_DIGITS)}/`;
}

export function payloadKey({ owner, volume, start }: Place): string {
  return volumePrefix(owner, volume) + number(start, START_DIGITS);
}

/**
 * Volumes in a bucket: each payload is an object, named after its volume and its start. A volume belongs
 * to the process that has made its claim, for ever; so places never overlap, whatever happens to Redis.
 */
export class S3Volumes implements VolumeWriter {
  readonly #mine = new Map<string, { readonly volume: number; end: number }>();

  constructor(
    private readonly objects: S3Objects,
    private readonly hubAddress: string,
  ) {}

  async allocate(owner: string, size: number): Promise<Place> {
    let mine = this.#mine.get(owner);
    if (mine === undefined || mine.end >= VOLUME_BYTES) {
      mine = { volume: await this.#claim(owner, mine?.volume), end: 0 };
    } else {
      this.#mine.delete(owner);
    }
    this.#mine.set(owner, mine);
    const start = mine.end;
    mine.end = start + padded(size);
    return { owner, volume: mine.volume, start, size };
  }

  async adopt(owner: string, ref: string, size: number): Promise<Place> {
    const volume = await this.#claim(owner, this.#mine.get(owner)?.volume);
    const place = { owner, volume, start: 0, size };
    await this.objects.move(ref, payloadKey(place));
    this.#mine.set(owner, { volume, end: padded(size) });
    return place;
  }

  async write(items: readonly PlacedPayload[]): Promise<void> {
    await Promise.all(
      items.map(async ({ place, payload }) => {
        const isMade = await this.objects.create(payloadKey(place), payload);
        if (!isMade) throw new StorageUnavailableError('put: the object exists already');
      }),
    );
  }

  forgetAll(owners: readonly string[]): Promise<void> {
    for (const owner of owners) this.#mine.delete(owner);
    return Promise.resolve();
  }

  trim(): Promise<void> {
    while (this.#mine.size > REMEMBERED_MAX) {
      const [oldest] = this.#mine.keys();
      if (oldest !== undefined) this.#mine.delete(oldest);
    }
    return Promise.resolve();
  }

  /** The next free number of the owner, for this process alone. */
  async #claim(owner: string, last: number | undefined): Promise<number> {
    const newest = last ?? (await this.#newestOf(owner));
    const first = newest === undefined ? firstVolumeOf(this.hubAddress, owner) : newest + 1;
    for (let volume = first; volume < first + CLAIMS_MAX; volume += 1) {
      if (await this.objects.create(`${volumePrefix(owner, volume)}claim`, 'claimed'))
        return volume;
    }
    throw new StorageUnavailableError('claim');
  }

  async #newestOf(owner: string): Promise<number | undefined> {
    const folder = `volumes/${folderOf(owner)}/`;
    let newest: number | undefined;
    for await (const { prefixes } of this.objects.list(folder, { delimiter: '/' })) {
      const last = prefixes.at(-1);
      if (last !== undefined) newest = Number.parseInt(last.slice(folder.length), 10);
    }
    return newest;
  }
}
