import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { StaticFile } from '../../platform/http/static-file.js';

/** The page behind `auth_url`: it shows code and rules and asks the owner's own wallet to sign. */
@Controller('wallet/approve')
export class ApprovalPageController {
  readonly #page = new StaticFile('approve.html');
  readonly #script = new StaticFile('approve.js');

  @Get()
  page(@Res() response: Response): void {
    this.#page.send(response);
  }

  @Get('approve.js')
  script(@Res() response: Response): void {
    this.#script.send(response);
  }
}
