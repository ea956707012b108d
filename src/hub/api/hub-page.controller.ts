import { Controller, Get, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { StaticFile } from '../../platform/http/static-file.js';

const SCRIPTS = ['hub.js', 'hub-messages.js', 'asking.js'];

/** The page of owners of files. It holds nothing; what it shows it asks for, by their signatures. */
@Controller('hub')
export class HubPageController {
  readonly #page = new StaticFile('hub.html');
  readonly #scripts = new Map(SCRIPTS.map((name) => [name, new StaticFile(name)]));

  @Get()
  page(@Res() response: Response): void {
    this.#page.send(response);
  }

  @Get(SCRIPTS)
  script(@Req() request: Request, @Res() response: Response): void {
    this.#scripts.get(request.path.split('/').at(-1) ?? '')?.send(response);
  }
}
