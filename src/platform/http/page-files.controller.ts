import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Controller, Get, NotFoundException, Param, Res } from '@nestjs/common';
import type { Response } from 'express';
import { StaticFile } from './static-file.js';

const packages = createRequire(import.meta.url);

/** Preact and htm as their packages have them. A browser resolves no name of a package, so hooks are given a path. */
const PACKAGED: ReadonlyMap<string, () => Buffer> = new Map([
  ['preact.js', () => readFileSync(packages.resolve('preact'))],
  ['htm.js', () => readFileSync(join(dirname(packages.resolve('htm')), 'htm.mjs'))],
  [
    'hooks.js',
    () => {
      const text = readFileSync(packages.resolve('preact/hooks'), 'utf8');
      return Buffer.from(text.replace('"preact"', '"./preact.js"'));
    },
  ],
]);

/** What pages load: their style, `public/pages`, `public/components`, and the packages these need. */
@Controller()
export class PageFilesController {
  readonly #components = new Map(StaticFile.folder('components'));
  readonly #pages = StaticFile.folder('pages');
  readonly #style = new StaticFile('site.css');

  @Get('site.css')
  style(@Res() response: Response): void {
    this.#style.send(response);
  }

  @Get('pages/:file')
  page(@Param('file') name: string, @Res() response: Response): void {
    const file = this.#pages.get(name);
    if (file === undefined) throw new NotFoundException();
    file.send(response);
  }

  @Get('components/:file')
  component(@Param('file') name: string, @Res() response: Response): void {
    const file = this.#components.get(name) ?? this.#packaged(name);
    if (file === undefined) throw new NotFoundException();
    file.send(response);
  }

  /** Read when it is first asked for: most processes show no page. */
  #packaged(name: string): StaticFile | undefined {
    const read = PACKAGED.get(name);
    if (read === undefined) return undefined;
    const file = new StaticFile(name, read());
    this.#components.set(name, file);
    return file;
  }
}
