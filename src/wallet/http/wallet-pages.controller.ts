import { Controller, Get, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { StaticFile } from '../../platform/http/static-file.js';

/** Of the page `/wallet`, and what it shares with those of approval and consent. */
const SCRIPTS = ['wallet.js', 'asking.js', 'signing.js', 'passkeys.js'];

/** The pages of owners. They hold nothing; what they show they ask for. */
@Controller('wallet')
export class WalletPagesController {
  readonly #wallet = new StaticFile('wallet.html');
  readonly #scripts = new Map(SCRIPTS.map((name) => [name, new StaticFile(name)]));
  readonly #approval = new StaticFile('approve.html');
  readonly #approvalScript = new StaticFile('approve.js');
  readonly #ask = new StaticFile('ask.html');
  readonly #askScript = new StaticFile('ask.js');

  /** Who is let in, what they may spend and have paid; the end of it. */
  @Get()
  wallet(@Res() response: Response): void {
    this.#wallet.send(response);
  }

  @Get(SCRIPTS)
  script(@Req() request: Request, @Res() response: Response): void {
    this.#scripts.get(request.path.split('/').at(-1) ?? '')?.send(response);
  }

  /** The page behind `auth_url`: it shows code and rules and asks the owner to sign. */
  @Get('approve')
  approval(@Res() response: Response): void {
    this.#approval.send(response);
  }

  @Get('approve/approve.js')
  approvalScript(@Res() response: Response): void {
    this.#approvalScript.send(response);
  }

  /** The page behind an agent's link: what it wants to pay for, and a message to sign. */
  @Get('ask')
  ask(@Res() response: Response): void {
    this.#ask.send(response);
  }

  @Get('ask/ask.js')
  askScript(@Res() response: Response): void {
    this.#askScript.send(response);
  }
}
