import { Module } from '@nestjs/common';
import { TakedownsController } from './takedowns.controller.js';
import { Takedowns } from './takedowns.service.js';

/** Imported only where API keys are in use: without them the routes do not exist, instead of being open. */
@Module({ controllers: [TakedownsController], providers: [Takedowns] })
export class HubOperatorsModule {}
