import { Module } from '@nestjs/common';
import { APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { AnswerInterceptor } from './answer.js';
import { ClientAddresses } from './client-address.js';
import { JsonBodyInterceptor } from './json-body.interceptor.js';
import { RequestPipe } from './request.pipe.js';
import { JsonBodyReader } from './request-body.js';

/**
 * Reading and validation of bodies and queries, and writing of answers. One body reader per process, so that its
 * limit is shared.
 */
@Module({
  providers: [
    JsonBodyReader,
    ClientAddresses,
    { provide: APP_INTERCEPTOR, useClass: JsonBodyInterceptor },
    { provide: APP_INTERCEPTOR, useClass: AnswerInterceptor },
    { provide: APP_PIPE, useClass: RequestPipe },
  ],
  exports: [JsonBodyReader, ClientAddresses],
})
export class HttpModule {}
