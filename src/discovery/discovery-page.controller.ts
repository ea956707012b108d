import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { StaticFile } from '../platform/http/static-file.js';

/** The catalogue, for people. The page holds nothing; what it shows it asks for. */
@Controller('discovery')
export class DiscoveryPageController {
  readonly #page = new StaticFile('discovery.html');
  readonly #script = new StaticFile('discovery.js');
  readonly #snippets = new StaticFile('discovery-snippets.js');

  @Get()
  page(@Res() response: Response): void {
    this.#page.send(response);
  }

  @Get('page.js')
  script(@Res() response: Response): void {
    this.#script.send(response);
  }

  @Get('snippets.js')
  snippets(@Res() response: Response): void {
    this.#snippets.send(response);
  }
}
