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

/** What pages are made of: `public/components`, and the packages it needs. */
@Controller('components')
export class ComponentsController {
  readonly #files = new Map(StaticFile.folder('components'));

  @Get(':file')
  file(@Param('file') name: string, @Res() response: Response): void {
    const file = this.#files.get(name) ?? this.#packaged(name);
    if (file === undefined) throw new NotFoundException();
    file.send(response);
  }

  /** Read when it is first asked for: most processes show no page. */
  #packaged(name: string): StaticFile | undefined {
    const read = PACKAGED.get(name);
    if (read === undefined) return undefined;
    const file = new StaticFile(name, read());
    this.#files.set(name, file);
    return file;
  }
}
