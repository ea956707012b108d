import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type INestApplication, Module, type NestApplicationOptions } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { PinoLogger } from 'nestjs-pino';
import { MemoryCatalogue } from '../../../test/twins/discovery/memory-catalogue.js';
import { Clock } from '../../platform/concurrency/clock.js';
import { ErrorFilter } from '../../platform/http/error.filter.js';
import { JsonBodyInterceptor } from '../../platform/http/json-body.interceptor.js';
import { RequestPipe } from '../../platform/http/request.pipe.js';
import { JsonBodyReader } from '../../platform/http/request-body.js';
import { DiscoveryRootController } from '../asking/discovery.controller.js';
import { Discovery } from '../asking/discovery.js';
import { CatalogueSettings } from '../catalogue-settings.js';
import { PayeeSignatures } from './payee-signatures.js';
import { Statements, StatementStore } from './statements.js';

describe('a malformed statement', () => {
  let app: INestApplication<Server>;
  let reads = 0;
  const offBy = (setting: string): unknown[] => [
    404,
    'statements_off',
    expect.stringContaining(`\`${setting}\``),
    0,
  ];
  afterEach(() => app.close());

  /** What `POST /discovery/statements` answers to a body without a single field. */
  async function answerWith(url: string | undefined, store?: StatementStore): Promise<unknown[]> {
    reads = 0;
    const reader: Pick<JsonBodyReader, 'json'> = {
      json: () => {
        reads += 1;
        return Promise.resolve({});
      },
    };
    @Module({
      controllers: [DiscoveryRootController],
      providers: [
        Statements,
        { provide: Discovery, useValue: {} },
        { provide: CatalogueSettings, useValue: { url } },
        { provide: PayeeSignatures, useValue: {} },
        { provide: Clock, useValue: {} },
        { provide: StatementStore, useValue: store },
        { provide: JsonBodyReader, useValue: reader },
        { provide: APP_FILTER, useValue: new ErrorFilter({} as PinoLogger) },
        { provide: APP_INTERCEPTOR, useClass: JsonBodyInterceptor },
        { provide: APP_PIPE, useClass: RequestPipe },
      ],
    })
    class StatementsModule {}
    const options: NestApplicationOptions = { bodyParser: false, logger: false };
    app = await NestFactory.create<NestExpressApplication>(StatementsModule, options);
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const at = `http://127.0.0.1:${port}/discovery/statements`;
    const response = await fetch(at, { method: 'POST', body: '{}' });
    const { code, error } = (await response.json()) as { code: string; error: string };
    return [response.status, code, error, reads];
  }

  it('gets 404 with the setting where statements are off, and is not read', async () => {
    expect(await answerWith('https://pay.example.com')).toEqual(offBy('DATABASE_URL'));
    await app.close();
    expect(await answerWith(undefined, new MemoryCatalogue())).toEqual(offBy('CATALOGUE_URL'));
  });

  it('gets 400 where they are on', async () => {
    const answer = await answerWith('https://pay.example.com', new MemoryCatalogue());
    expect(answer).toEqual([400, 'invalid_statement', expect.stringContaining('statement'), 1]);
  });
});
