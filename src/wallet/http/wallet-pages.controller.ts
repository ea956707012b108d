import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { StaticFile } from '../../platform/http/static-file.js';

/** The pages of owners. They hold nothing; what they show they ask for. */
@Controller('wallet')
export class WalletPagesController {
  readonly #signing = new StaticFile('signing.js');
  readonly #approval = new StaticFile('approve.html');
  readonly #approvalScript = new StaticFile('approve.js');

  /** What these pages share with that of `/oauth/consent`. */
  @Get('signing.js')
  signing(@Res() response: Response): void {
    this.#signing.send(response);
  }

  /** The page behind `auth_url`: it shows code and rules and asks the owner's own wallet to sign. */
  @Get('approve')
  approval(@Res() response: Response): void {
    this.#approval.send(response);
  }

  @Get('approve/approve.js')
  approvalScript(@Res() response: Response): void {
    this.#approvalScript.send(response);
  }
}
