import { Module } from '@nestjs/common';
import { APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { JsonBodyInterceptor } from './json-body.interceptor.js';
import { RequestPipe } from './request.pipe.js';
import { JsonBodyReader } from './request-body.js';

/** How bodies and queries are read and validated: one reader for the process, so that its bound is one. */
@Module({
  providers: [
    JsonBodyReader,
    { provide: APP_INTERCEPTOR, useClass: JsonBodyInterceptor },
    { provide: APP_PIPE, useClass: RequestPipe },
  ],
  exports: [JsonBodyReader],
})
export class HttpModule {}
