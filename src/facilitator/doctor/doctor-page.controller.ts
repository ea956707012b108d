import { Controller, Get, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { sendPage } from '../../platform/http/page.js';

/** The check of sellers, for people. The page holds nothing; what it shows it asks for. */
@Controller('doctor')
export class DoctorPageController {
  constructor(private readonly config: AppConfig) {}

  @Get()
  page(@Req() request: Request, @Res() response: Response): void {
    sendPage(response, request, {
      config: this.config,
      title: 'Check a seller',
      script: 'doctor.js',
    });
  }
}
