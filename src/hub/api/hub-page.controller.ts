import { Controller, Get, NotFoundException, UseInterceptors } from '@nestjs/common';
import { AppConfig } from '../../platform/config/app-config.js';
import { type PageContent, PageInterceptor } from '../../platform/http/page.js';

/** The pages of the hub. They hold no data: the owner's page calls the API with signatures, the public one without. */
@Controller('hub')
@UseInterceptors(PageInterceptor)
export class HubPageController {
  constructor(private readonly config: AppConfig) {}

  @Get()
  page(): PageContent {
    const { hub } = this.config;
    // Facts that the page need not fetch.
    const facts = `data-public="${!hub.isPrivate}" data-has-tokens="${this.config.hasRole('api')}"`;
    const main = `<div id="page" ${facts}></div>`;
    return { title: 'Files', script: 'hub.js', main };
  }

  /** Public; a private hub has no such page. */
  @Get('browse')
  browse(): PageContent {
    if (this.config.hub.isPrivate) throw new NotFoundException();
    return { title: 'Public files', script: 'hub-browse.js' };
  }
}
