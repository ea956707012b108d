import { Controller, Get, HttpCode, Post, Query, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { PinoLogger } from 'nestjs-pino';
import { callerOf, RequireScope } from '../../platform/http/access.js';
import { sendJson } from '../../platform/http/json.js';
import { OpsOnly } from '../../platform/http/ops.js';
import { JsonBodyReader } from '../../platform/http/request-body.js';
import { readRows } from './takedown-request.js';
import { Takedowns } from './takedowns.service.js';
import { TakedownsErrorFilter } from './takedowns-error.filter.js';

/** What operators of the hub do. There is nothing of it where there are no API keys. */
@Controller('admin/api/hub')
@RequireScope('admin')
@OpsOnly()
@UseFilters(TakedownsErrorFilter)
export class TakedownsController {
  constructor(
    private readonly takedowns: Takedowns,
    private readonly bodies: JsonBodyReader,
    private readonly logger: PinoLogger,
  ) {}

  @Get('takedowns')
  async list(@Query() query: unknown, @Res() response: Response): Promise<void> {
    sendPrivate(response, await this.takedowns.list(readRows(query)));
  }

  @Get('acts')
  async acts(@Query() query: unknown, @Res() response: Response): Promise<void> {
    sendPrivate(response, await this.takedowns.acts(readRows(query)));
  }

  @Post('takedown')
  @HttpCode(200)
  async takeDown(@Req() request: Request, @Res() response: Response): Promise<void> {
    const by = callerOf(request) ?? '';
    const done = await this.takedowns.takeDown(await this.bodies.json(request, response), by);
    this.logger.warn({ by, outcome: done.outcome }, 'hub: take down');
    sendPrivate(response, done);
  }

  @Post('restore')
  @HttpCode(200)
  async restore(@Req() request: Request, @Res() response: Response): Promise<void> {
    const by = callerOf(request) ?? '';
    const done = await this.takedowns.restore(await this.bodies.json(request, response), by);
    this.logger.warn({ by, outcome: done.outcome }, 'hub: restore');
    sendPrivate(response, done);
  }
}

/** No cache may keep it. */
function sendPrivate(response: Response, body: unknown): void {
  response.setHeader('Cache-Control', 'no-store');
  sendJson(response, 200, body);
}
