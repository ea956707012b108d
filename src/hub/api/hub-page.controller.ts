import { Controller, Get, NotFoundException, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { StaticFile } from '../../platform/http/static-file.js';

const SCRIPTS = ['hub.js', 'hub-browse.js', 'hub-messages.js', 'asking.js'];

/** The pages of the hub. They hold nothing: the owner's page asks by signatures, the public one without. */
@Controller('hub')
export class HubPageController {
  readonly #page = new StaticFile('hub.html');
  readonly #browsePage = new StaticFile('hub-browse.html');
  readonly #scripts = new Map(SCRIPTS.map((name) => [name, new StaticFile(name)]));

  constructor(private readonly config: AppConfig) {}

  @Get()
  page(@Res() response: Response): void {
    this.#page.send(response);
  }

  /** For everybody; a private hub has no such page. */
  @Get('browse')
  browse(@Res() response: Response): void {
    if (this.config.hub.isPrivate) throw new NotFoundException();
    this.#browsePage.send(response);
  }

  @Get(SCRIPTS)
  script(@Req() request: Request, @Res() response: Response): void {
    this.#scripts.get(request.path.split('/').at(-1) ?? '')?.send(response);
  }
}
