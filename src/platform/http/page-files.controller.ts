import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Controller, Get, NotFoundException, Param, UseInterceptors } from '@nestjs/common';
import { PageInterceptor } from './page.js';
import { StaticFile } from './static-file.js';

const packages = createRequire(import.meta.url);

/** Preact and htm from their packages. A browser cannot resolve names of packages, so hooks have a path. */
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

/** Files of the pages: styles, `public/pages`, `public/components`, and packages. */
@Controller()
@UseInterceptors(PageInterceptor)
export class PageFilesController {
  readonly #components = new Map(StaticFile.folder('components'));
  readonly #pages = StaticFile.folder('pages');
  readonly #style = new StaticFile('site.css');

  @Get('site.css')
  style(): StaticFile {
    return this.#style;
  }

  @Get('pages/:file')
  page(@Param('file') name: string): StaticFile {
    const file = this.#pages.get(name);
    if (file === undefined) throw new NotFoundException();
    return file;
  }

  @Get('components/:file')
  component(@Param('file') name: string): StaticFile {
    const file = this.#components.get(name) ?? this.#packaged(name);
    if (file === undefined) throw new NotFoundException();
    return file;
  }

  /** Read on demand, because most processes serve no page. */
  #packaged(name: string): StaticFile | undefined {
    const read = PACKAGED.get(name);
    if (read === undefined) return undefined;
    const file = new StaticFile(name, read());
    this.#components.set(name, file);
    return file;
  }
}
