import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { StaticFile } from '../../platform/http/static-file.js';

/** The pages of owners. They hold nothing; what they show they ask for. */
@Controller('wallet')
export class WalletPagesController {
  readonly #wallet = new StaticFile('wallet.html');
  readonly #walletScript = new StaticFile('wallet.js');
  readonly #signing = new StaticFile('signing.js');
  readonly #approval = new StaticFile('approve.html');
  readonly #approvalScript = new StaticFile('approve.js');

  /** Who is let in, what they may spend and have paid; the end of it. */
  @Get()
  wallet(@Res() response: Response): void {
    this.#wallet.send(response);
  }

  @Get('wallet.js')
  walletScript(@Res() response: Response): void {
    this.#walletScript.send(response);
  }

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
