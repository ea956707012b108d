import { Controller, Get, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { sendPage } from '../../platform/http/page.js';

/** The pages of owners. They hold nothing; what they show they ask for. */
@Controller('wallet')
export class WalletPagesController {
  constructor(private readonly config: AppConfig) {}

  /** Money, rules, who has access, what waits for the owner and what was paid. */
  @Get()
  wallet(@Req() request: Request, @Res() response: Response): void {
    sendPage(response, request, { config: this.config, title: 'Wallet', script: 'wallet.js' });
  }

  /** The page behind `auth_url`: it shows code and rules and asks the owner to sign. */
  @Get('approve')
  approval(@Req() request: Request, @Res() response: Response): void {
    sendPage(response, request, {
      config: this.config,
      title: 'Approve an agent',
      script: 'approve.js',
    });
  }

  /** The page behind an agent's link: what it wants to pay for, and a message to sign. */
  @Get('ask')
  ask(@Req() request: Request, @Res() response: Response): void {
    sendPage(response, request, {
      config: this.config,
      title: 'Approve a payment',
      script: 'ask.js',
    });
  }
}
