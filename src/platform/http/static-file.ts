import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Response } from 'express';
import { pageHeaders } from './page-headers.js';

const FOLDER = new URL('../../../public/', import.meta.url);
const packages = createRequire(import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

/** A file of `public/`, or of a package, read once: the pages are few, small and part of the service. */
export class StaticFile {
  readonly #bytes: Buffer;
  readonly #type: string;

  /**
   * @param bytes - what is sent in place of the file of this name.
   * @throws Error when there is no such file.
   */
  constructor(name: string, bytes: Buffer = readFileSync(new URL(name, FOLDER))) {
    this.#bytes = bytes;
    this.#type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
  }

  /**
   * @param name - of the package and the file in it: `uplot/dist/uPlot.min.css`.
   * @throws Error when there is no such file.
   */
  static ofPackage(name: string): StaticFile {
    return new StaticFile(name, readFileSync(packages.resolve(name)));
  }

  /** The files of a folder of `public/`, by their names. */
  static folder(name: string): ReadonlyMap<string, StaticFile> {
    const names = readdirSync(new URL(`${name}/`, FOLDER));
    return new Map(names.map((file) => [file, new StaticFile(`${name}/${file}`)]));
  }

  send(response: Response): void {
    pageHeaders(response.req, response, () => undefined);
    response.setHeader('Content-Type', this.#type);
    response.setHeader('Content-Length', this.#bytes.length);
    // A new version of the service brings new pages under the same names.
    response.setHeader('Cache-Control', 'no-cache');
    response.end(this.#bytes);
  }
}
