import { Controller, HttpCode, HttpStatus, Post, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RateLimited } from '../../platform/http/access.js';
import { ClientAddresses } from '../../platform/http/client-address.js';
import { sendJson } from '../../platform/http/json.js';
import { JsonBodyReader } from '../../platform/http/request-body.js';
import { Reports } from './reports.js';

/** Anybody may say what is wrong with an entry: buyers have no keys. */
@Controller(['discovery', 'v1/discovery', 'v2/discovery'])
@RateLimited('lookup')
export class ReportsController {
  constructor(
    private readonly reports: Reports,
    private readonly bodies: JsonBodyReader,
    private readonly addresses: ClientAddresses,
  ) {}

  @Post('reports')
  @HttpCode(HttpStatus.ACCEPTED)
  async report(@Req() request: Request, @Res() response: Response): Promise<void> {
    const body = await this.bodies.json(request, response);
    const answer = await this.reports.accept(body, this.addresses.of(request));
    sendJson(response, HttpStatus.ACCEPTED, answer);
  }
}
