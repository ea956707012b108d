import { Controller, Get, NotFoundException, Param, Res } from '@nestjs/common';
import type { Response } from 'express';
import { OpsOnly } from '../../platform/http/ops.js';
import { StaticFile } from '../../platform/http/static-file.js';

/** What the page loads, by the name it loads it by. */
const SCRIPTS = [
  'admin.js',
  'admin-common.js',
  'admin-history.js',
  'admin-life.js',
  'admin-totals.js',
  'admin-chart.js',
  'admin-lines.js',
  'admin-catalogue.js',
];
/** Of packages, from our own origin. */
const PACKAGED = {
  'uplot.js': 'uplot/dist/uPlot.esm.js',
  'uplot.css': 'uplot/dist/uPlot.min.css',
};

/** The operator page. It holds nothing of the deployment: what it shows it asks for with a key. */
@Controller('admin')
@OpsOnly()
export class AdminPageController {
  readonly #page = new StaticFile('admin.html');
  readonly #files: ReadonlyMap<string, StaticFile> = new Map([
    ...SCRIPTS.map((name) => [name, new StaticFile(name)] as const),
    ...Object.entries(PACKAGED).map(([name, file]) => [name, StaticFile.ofPackage(file)] as const),
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
