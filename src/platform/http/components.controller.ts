import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Controller, Get, NotFoundException, Param, Res } from '@nestjs/common';
import type { Response } from 'express';
import { StaticFile } from './static-file.js';

const packages = createRequire(import.meta.url);

/** Preact and htm as their packages have them. A browser resolves no name of a package, so hooks are given a path. */
const VENDORED = {
  'preact.js': () => readFileSync(packages.resolve('preact')),
  'hooks.js': () =>
    Buffer.from(
      readFileSync(packages.resolve('preact/hooks'), 'utf8')
        .replace('"preact"', '"./preact.js"')
        .replace(/\n\/\/# sourceMappingURL=.*/, ''),
    ),
  'htm.js': () => readFileSync(join(dirname(packages.resolve('htm')), 'htm.mjs')),
} as const;

/** What pages are made of: `public/components`, and the packages it needs. */
@Controller('components')
export class ComponentsController {
  readonly #files: ReadonlyMap<string, StaticFile> = new Map([
    ...StaticFile.folder('components'),
    ...Object.entries(VENDORED).map(
      ([name, bytes]) => [name, new StaticFile(name, bytes())] as const,
    ),
  ]);

  @Get(':file')
  file(@Param('file') name: string, @Res() response: Response): void {
    const file = this.#files.get(name);
    if (file === undefined) throw new NotFoundException();
    file.send(response);
  }
}
