import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));

const ENDING_LENGTH = 200;

/**
 * The scripts the service runs in Redis, found by listening to the wire. One that is a file of the
 * build goes by the name of the file, one that begins with a comment by that, any other by its
 * hash.
 */
export class StepCatalogue {
  readonly #names = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  #files: readonly (readonly [string, string])[] | undefined;

  /** A script's text went by. */
  learn(text: string): void {
    const sha = createHash('sha1').update(text).digest('hex');
    if (!this.#names.has(sha))
      this.#names.set(sha, this.#nameOf(text) ?? `script ${sha.slice(0, 8)}`);
  }

  /** A script is about to run. */
  note(sha: string): string {
    return this.count(this.#names.get(sha) ?? `script ${sha.slice(0, 8)}`);
  }

  /** A step that is known by its name is about to be made. */
  count(name: string): string {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    return name;
  }

  /** How often each step was made so far, by name. */
  counts(): ReadonlyMap<string, number> {
    return new Map(this.#counts);
  }

  #nameOf(text: string): string | undefined {
    this.#files ??= scriptFiles();
    const file = this.#files.find(([, ending]) => text.trimEnd().endsWith(ending));
    if (file !== undefined) return file[0];
    const comment = /^\s*--(?:\[\[)?\s*(\S[^\n]{0,50})/.exec(text)?.[1];
    return comment?.trim().replaceAll(/\s+/g, ' ');
  }
}

/** How each ends: what it begins with may be included from elsewhere. */
function scriptFiles(): readonly (readonly [string, string])[] {
  return readdirSync(DIST, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.lua'))
    .map(({ parentPath, name }): readonly [string, string] => [
      basename(name, '.lua'),
      readFileSync(join(parentPath, name), 'utf8').trim().slice(-ENDING_LENGTH),
    ]);
}
