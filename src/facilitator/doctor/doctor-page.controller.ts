import { Controller, Get, UseInterceptors } from '@nestjs/common';
import { type PageContent, PageInterceptor } from '../../platform/http/page.js';

/** The page that checks a seller. It holds no data and calls the API for what it shows. */
@Controller('doctor')
@UseInterceptors(PageInterceptor)
export class DoctorPageController {
  @Get()
  page(): PageContent {
    return { title: 'Check a seller', script: 'doctor.js' };
  }
}
