import { Controller, Get, UseInterceptors } from '@nestjs/common';
import { type PageContent, PageInterceptor } from '../platform/http/page.js';

/** The page of the catalogue for people. It holds no data and calls the API for what it shows. */
@Controller('discovery')
@UseInterceptors(PageInterceptor)
export class DiscoveryPageController {
  @Get()
  page(): PageContent {
    return { title: 'Marketplace', script: 'discovery.js' };
  }
}
