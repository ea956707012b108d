import { Controller, Get, NotFoundException, Param, UseInterceptors } from '@nestjs/common';
import { OpsOnly } from '../../platform/http/ops.js';
import { PageInterceptor } from '../../platform/http/page.js';
import { StaticFile } from '../../platform/http/static-file.js';

/** The operators' console. The page holds no data; it calls the API with an operator's key. */
@Controller('admin')
@OpsOnly()
@UseInterceptors(PageInterceptor)
export class AdminPageController {
  readonly #page = new StaticFile('admin.html');
  readonly #files: ReadonlyMap<string, StaticFile> = new Map([
    ...StaticFile.folder('admin'),
    ['uplot.js', StaticFile.ofPackage('uplot/dist/uPlot.esm.js')],
    ['uplot.css', StaticFile.ofPackage('uplot/dist/uPlot.min.css')],
  ]);

  @Get()
  page(): StaticFile {
    return this.#page;
  }

  @Get(':file')
  file(@Param('file') name: string): StaticFile {
    const file = this.#files.get(name);
    if (file === undefined) throw new NotFoundException();
    return file;
  }
}
