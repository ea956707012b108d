import { Controller, Get, NotFoundException, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { sendPage } from '../../platform/http/page.js';

/** The pages of the hub. They hold nothing: the owner's page asks by signatures, the public one without. */
@Controller('hub')
export class HubPageController {
  constructor(private readonly config: AppConfig) {}

  @Get()
  page(@Req() request: Request, @Res() response: Response): void {
    const { hub } = this.config;
    // What the page need not ask for.
    const facts = `data-public="${!hub.isPrivate}" data-has-tokens="${this.config.hasRole('api')}"`;
    const main = `<div id="page" ${facts}></div>`;
    sendPage(response, request, { config: this.config, title: 'Files', script: 'hub.js', main });
  }

  /** For everybody; a private hub has no such page. */
  @Get('browse')
  browse(@Req() request: Request, @Res() response: Response): void {
    if (this.config.hub.isPrivate) throw new NotFoundException();
    sendPage(response, request, {
      config: this.config,
      title: 'Public files',
      script: 'hub-browse.js',
    });
  }
}
