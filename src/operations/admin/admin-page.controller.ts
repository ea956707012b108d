import { Controller, Get, NotFoundException, Param, Res } from '@nestjs/common';
import type { Response } from 'express';
import { OpsOnly } from '../../platform/http/ops.js';
import { StaticFile } from '../../platform/http/static-file.js';

/** The operators' console. It holds nothing of the deployment: what it shows it asks for with a key. */
@Controller('admin')
@OpsOnly()
export class AdminPageController {
  readonly #page = new StaticFile('admin.html');
  readonly #files: ReadonlyMap<string, StaticFile> = new Map([
    ...StaticFile.folder('admin'),
    ['uplot.js', StaticFile.ofPackage('uplot/dist/uPlot.esm.js')],
    ['uplot.css', StaticFile.ofPackage('uplot/dist/uPlot.min.css')],
  ]);

  @Get()
  page(@Res() response: Response): void {
    this.#page.send(response);
  }

  @Get(':file')
  file(@Param('file') name: string, @Res() response: Response): void {
    const file = this.#files.get(name);
    if (file === undefined) throw new NotFoundException();
    file.send(response);
  }
}
