import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { OpsOnly } from '../../platform/http/ops.js';
import { StaticFile } from '../../platform/http/static-file.js';

/** The operator page. It holds nothing of the deployment: what it shows it asks for with a key. */
@Controller('admin')
@OpsOnly()
export class AdminPageController {
  readonly #page = new StaticFile('admin.html');
  readonly #script = new StaticFile('admin.js');

  @Get()
  page(@Res() response: Response): void {
    this.#page.send(response);
  }

  @Get('admin.js')
  script(@Res() response: Response): void {
    this.#script.send(response);
  }
}
