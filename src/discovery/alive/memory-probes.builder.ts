import type { MemoryCatalogue } from '../memory-catalogue.builder.js';
import { hostOf } from '../postgres/entry-rows.js';
import { canBeProbed } from './probe.js';
import {
  HOST_FORGOTTEN_MS,
  HOST_PAUSE_MS,
  type KeptRobots,
  type ProbeBook,
  type Visit,
  type Visited,
} from './probe-book.js';

interface Host {
  visitedAt: number;
  dueAt: number;
  robots: KeptRobots | undefined;
}

/** Probes in memory, which keep the contract of those in PostgreSQL. */
export class MemoryProbes implements ProbeBook {
  readonly #hosts = new Map<string, Host>();
  readonly #dueAt = new Map<string, number>();

  constructor(private readonly catalogue: MemoryCatalogue) {}

  enrol(now: Date, most: number): Promise<number> {
    const at = now.getTime();
    const entries = this.catalogue.all();
    for (const id of this.#dueAt.keys()) {
      if (entries.every((entry) => entry.id !== id)) this.#dueAt.delete(id);
    }
    const found = entries.filter(({ id }) => !this.#dueAt.has(id)).slice(0, most);
    for (const { id, listing } of found) {
      const isProbed = canBeProbed(listing);
      this.#dueAt.set(id, isProbed ? at : Infinity);
      if (!isProbed) {
        this.catalogue.probes.set(id, { state: 'not_probed', status: undefined, at: undefined });
        continue;
      }
      const host = hostOf(listing.resource);
      const kept = this.#hosts.get(host) ?? {
        visitedAt: -Infinity,
        dueAt: Infinity,
        robots: undefined,
      };
      kept.dueAt = Math.min(kept.dueAt, Math.max(at, kept.visitedAt + HOST_PAUSE_MS));
      this.#hosts.set(host, kept);
    }
    for (const [name, { dueAt }] of this.#hosts) {
      if (dueAt <= at && this.#entriesOf(name).length === 0) this.#hosts.delete(name);
    }
    return Promise.resolve(found.length);
  }

  take(now: Date, most: number): Promise<readonly Visit[]> {
    const at = now.getTime();
    const due = [...this.#hosts]
      .filter(([, { dueAt }]) => dueAt <= at)
      .sort(([, a], [, b]) => a.dueAt - b.dueAt)
      .slice(0, most);
    return Promise.resolve(
      due.flatMap(([name, host]) => {
        host.visitedAt = at;
        host.dueAt = at + HOST_PAUSE_MS;
        const [entry] = this.#entriesOf(name)
          .filter(({ id, isDenied }) => this.#dueOf(id) <= at && !isDenied)
          .sort((a, b) => this.#dueOf(a.id) - this.#dueOf(b.id));
        if (entry === undefined) {
          this.#leave(name);
          return [];
        }
        const { id, chainId, payTo, listing } = entry;
        return [{ host: name, robots: host.robots, entry: { id, chainId, payTo, listing } }];
      }),
    );
  }

  finish({ host, entry }: Visit, { probe, dueAt, robots }: Visited): Promise<void> {
    if (this.catalogue.payTo(entry.id) !== undefined) {
      this.catalogue.probes.set(entry.id, probe);
      this.#dueAt.set(entry.id, dueAt.getTime());
    }
    const kept = this.#hosts.get(host);
    if (kept !== undefined && robots !== undefined) kept.robots = robots;
    this.#leave(host);
    return Promise.resolve();
  }

  #leave(name: string): void {
    const host = this.#hosts.get(name);
    if (host === undefined) return;
    const due = this.#entriesOf(name).map(({ id }) => this.#dueOf(id));
    const next = due.length === 0 ? host.visitedAt + HOST_FORGOTTEN_MS : Math.min(...due);
    host.dueAt = Math.max(host.visitedAt + HOST_PAUSE_MS, next);
  }

  #entriesOf(host: string) {
    return this.catalogue
      .all()
      .filter(({ id, listing }) => this.#dueAt.has(id) && hostOf(listing.resource) === host);
  }

  #dueOf(id: string): number {
    return this.#dueAt.get(id) ?? Infinity;
  }
}
