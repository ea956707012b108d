import { Controller, Get, UseInterceptors } from '@nestjs/common';
import { type PageContent, PageInterceptor } from '../../platform/http/page.js';

/** The pages for owners. They hold no data and call the API for what they show. */
@Controller('wallet')
@UseInterceptors(PageInterceptor)
export class WalletPagesController {
  /** Money, rules, access, open requests and payments. */
  @Get()
  wallet(): PageContent {
    return { title: 'Wallet', script: 'wallet.js' };
  }

  /** The page behind `auth_url`: it shows code and rules and asks the owner to sign. */
  @Get('approve')
  approval(): PageContent {
    return { title: 'Approve an agent', script: 'approve.js' };
  }

  /** The page behind an agent's link: the payment it asks for, and a message to sign. */
  @Get('ask')
  ask(): PageContent {
    return { title: 'Approve a payment', script: 'ask.js' };
  }
}
