import { Controller, Get, HttpCode, Post, Query, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { PinoLogger } from 'nestjs-pino';
import { Moderation } from '../../discovery/operators/moderation.js';
import { callerOf, RequireScope } from '../../platform/http/access.js';
import { OpsOnly } from '../../platform/http/ops.js';
import { JsonBodyReader } from '../../platform/http/request-body.js';
import { AdminErrorFilter } from './admin-error.filter.js';
import { sendPrivate } from './send-private.js';

/** What the operator page shows of the catalogue, and does with it. */
@Controller('admin/api/catalogue')
@RequireScope('admin')
@OpsOnly()
@UseFilters(AdminErrorFilter)
export class AdminCatalogueController {
  constructor(
    private readonly moderation: Moderation,
    private readonly bodies: JsonBodyReader,
    private readonly logger: PinoLogger,
  ) {}

  @Get('entries')
  async entries(@Query() query: unknown, @Res() response: Response): Promise<void> {
    sendPrivate(response, await this.moderation.entries(query));
  }

  @Get('denials')
  async denials(@Query() query: unknown, @Res() response: Response): Promise<void> {
    sendPrivate(response, await this.moderation.denials(query));
  }

  @Post('deny')
  @HttpCode(200)
  async deny(@Req() request: Request, @Res() response: Response): Promise<void> {
    const by = callerOf(request) ?? '';
    const done = await this.moderation.deny(await this.bodies.json(request, response), by);
    this.logger.warn({ by, outcome: done['outcome'] }, 'catalogue: deny');
    sendPrivate(response, done);
  }

  @Post('allow')
  @HttpCode(200)
  async allow(@Req() request: Request, @Res() response: Response): Promise<void> {
    const by = callerOf(request) ?? '';
    const done = await this.moderation.allow(await this.bodies.json(request, response), by);
    this.logger.warn({ by, outcome: done['outcome'] }, 'catalogue: allow');
    sendPrivate(response, done);
  }
}
