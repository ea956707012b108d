import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const FOLDER = new URL('../../../public/', import.meta.url);
const packages = createRequire(import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

/** A file of `public/` or of a package, read once into memory, because the files are few and small. */
export class StaticFile {
  readonly bytes: Buffer;
  readonly type: string;

  /**
   * @param bytes - replaces the content of the file.
   * @throws Error if there is no such file.
   */
  constructor(name: string, bytes: Buffer = readFileSync(new URL(name, FOLDER))) {
    this.bytes = bytes;
    this.type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
  }

  /**
   * @param name - package and file: `uplot/dist/uPlot.min.css`.
   * @throws Error if there is no such file.
   */
  static ofPackage(name: string): StaticFile {
    return new StaticFile(name, readFileSync(packages.resolve(name)));
  }

  /** The files of a folder of `public/`, by name. */
  static folder(name: string): ReadonlyMap<string, StaticFile> {
    const names = readdirSync(new URL(`${name}/`, FOLDER));
    return new Map(names.map((file) => [file, new StaticFile(`${name}/${file}`)]));
  }
}
