import { Global, Module } from '@nestjs/common';
import { JsonBodyReader } from './request-body.js';

/** What every door reads with. One of each for the process: what they bound is bounded once. */
@Global()
@Module({ providers: [JsonBodyReader], exports: [JsonBodyReader] })
export class HttpModule {}
