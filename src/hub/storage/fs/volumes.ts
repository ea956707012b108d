import { type FileHandle, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlacedPayload, VolumeWriter } from '../group-commit.js';
import { firstVolumeOf, folderOf } from '../owner-folder.js';
import {
  ALIGNMENT,
  type JournalEntry,
  padded,
  type Place,
  VOLUME_BYTES,
} from '../storage-provider.js';
import { makeFolder, openDurable, syncFolder } from './durable.js';
import { writeAll } from './journal.js';

const PADDING = Buffer.alloc(ALIGNMENT);
/** Owners whose newest volume is kept open for writing. */
const OPEN_MAX = 256;

export function volumePath(
  dir: string,
  { owner, volume }: Pick<Place, 'owner' | 'volume'>,
): string {
  return join(dir, folderOf(owner), `${volume}.vol`);
}

interface OpenVolume {
  readonly file: FileHandle;
  readonly volume: number;
  /** Where the next payload goes. */
  end: number;
}

/**
 * The volumes of all owners, as their one writer sees them: which is the newest of an owner, and where
 * it ends. A place is given once; what a crash leaves behind a volume's last payload is passed over.
 */
export class Volumes implements VolumeWriter {
  readonly #open = new Map<string, OpenVolume>();
  /** Ends that the journal knows, of volumes it wrote last: greater than the file where its tail was lost. */
  readonly #knownEnds = new Map<string, number>();

  constructor(
    private readonly dir: string,
    private readonly hubAddress: string,
  ) {}

  noteTail(entries: readonly JournalEntry[]): void {
    for (const entry of entries) {
      if (entry.op !== 'put') continue;
      this.#knownEnds.set(volumePath(this.dir, entry), entry.start + padded(entry.size));
    }
  }

  async allocate(owner: string, size: number): Promise<Place> {
    const current = await this.#current(owner);
    const volume = current.end < VOLUME_BYTES ? current : await this.#next(owner, current);
    const start = volume.end;
    volume.end = start + padded(size);
    return { owner, volume: volume.volume, start, size };
  }

  /** @param path - of a file, synced and padded. */
  async adopt(owner: string, path: string, size: number): Promise<Place> {
    const current = await this.#current(owner);
    const volume = current.end === 0 ? current.volume : current.volume + 1;
    const place = { owner, volume, start: 0, size };
    await rename(path, volumePath(this.dir, place));
    await syncFolder(join(this.dir, folderOf(owner)));
    await this.#forget(owner);
    return place;
  }

  async write(items: readonly PlacedPayload[]): Promise<void> {
    const byVolume = new Map<string, PlacedPayload[]>();
    for (const item of items) {
      const path = volumePath(this.dir, item.place);
      const others = byVolume.get(path);
      if (others === undefined) byVolume.set(path, [item]);
      else others.push(item);
    }
    await Promise.all([...byVolume].map(([path, written]) => this.#writeOne(path, written)));
  }

  /** The disk is asked again. */
  async forgetAll(owners: readonly string[]): Promise<void> {
    await Promise.all([...new Set(owners)].map((owner) => this.#forget(owner)));
  }

  async trim(): Promise<void> {
    while (this.#open.size > OPEN_MAX) {
      const [oldest] = this.#open.keys();
      if (oldest !== undefined) await this.#forget(oldest);
    }
  }

  async close(): Promise<void> {
    await this.forgetAll([...this.#open.keys()]);
  }

  async #writeOne(path: string, items: readonly PlacedPayload[]): Promise<void> {
    const [first] = items;
    if (first === undefined) return;
    const open = this.#open.get(first.place.owner);
    // A batch may begin in one volume and go on in the next.
    const isCurrent = open?.volume === first.place.volume;
    const file = isCurrent ? open.file : await openDurable(path);
    try {
      const bytes = Buffer.concat(items.flatMap(withPadding));
      await writeAll(file, bytes, first.place.start);
    } finally {
      if (!isCurrent) await file.close();
    }
  }

  async #current(owner: string): Promise<OpenVolume> {
    const known = this.#open.get(owner);
    if (known !== undefined) {
      // Moved behind the others: the first one is the one that was not used for longest.
      this.#open.delete(owner);
      this.#open.set(owner, known);
      return known;
    }
    await makeFolder(join(this.dir, folderOf(owner)));
    const volume = (await this.#newestOf(owner)) ?? firstVolumeOf(this.hubAddress, owner);
    return this.#openVolume(owner, volume);
  }

  async #next(owner: string, { volume }: OpenVolume): Promise<OpenVolume> {
    await this.#forget(owner);
    return this.#openVolume(owner, volume + 1);
  }

  async #openVolume(owner: string, volume: number): Promise<OpenVolume> {
    const path = volumePath(this.dir, { owner, volume });
    const isNew = (await sizeOf(path)) === undefined;
    const file = await openDurable(path);
    if (isNew) await syncFolder(join(this.dir, folderOf(owner)));
    const { size } = await file.stat();
    const end = Math.max(padded(size), this.#knownEnds.get(path) ?? 0);
    const opened = { file, volume, end };
    this.#open.set(owner, opened);
    return opened;
  }

  async #newestOf(owner: string): Promise<number | undefined> {
    const names = await readdir(join(this.dir, folderOf(owner)));
    const volumes = names
      .filter((name) => /^\d+\.vol$/.test(name))
      .map((name) => Number.parseInt(name, 10));
    return volumes.length === 0 ? undefined : volumes.reduce((a, b) => Math.max(a, b));
  }

  async #forget(owner: string): Promise<void> {
    const known = this.#open.get(owner);
    this.#open.delete(owner);
    await known?.file.close();
  }
}

function withPadding({ place, payload }: PlacedPayload): Uint8Array[] {
  return [payload, PADDING.subarray(0, padded(place.size) - place.size)];
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
