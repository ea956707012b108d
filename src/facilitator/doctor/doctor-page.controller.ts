import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { StaticFile } from '../../platform/http/static-file.js';

/** The check of sellers, for people. The page holds nothing; what it shows it asks for. */
@Controller('doctor')
export class DoctorPageController {
  readonly #page = new StaticFile('doctor.html');
  readonly #script = new StaticFile('doctor.js');

  @Get()
  page(@Res() response: Response): void {
    this.#page.send(response);
  }

  @Get('doctor.js')
  script(@Res() response: Response): void {
    this.#script.send(response);
  }
}
