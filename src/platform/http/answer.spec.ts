import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  HttpStatus,
  type INestApplication,
  Module,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../config/app-config.js';
import { Answer, AnswerInterceptor, HttpRefusal } from './answer.js';
import { ErrorFilter } from './error.filter.js';
import { type PageContent, PageInterceptor } from './page.js';
import { StaticFile } from './static-file.js';

const STYLE = new StaticFile('site.css');

@Controller()
class AnswersController {
  @Get('json')
  json(): Answer<object> {
    return new Answer({ made: true }, { Location: '/json/1' }, HttpStatus.CREATED);
  }

  @Get('text')
  text(): Answer<string> {
    return new Answer('{"a":1}', { 'Content-Type': 'application/json; charset=utf-8' });
  }

  @Get('unchanged')
  unchanged(): Answer<undefined> {
    return new Answer(undefined, { ETag: '"1"' }, HttpStatus.NOT_MODIFIED);
  }

  @Get('refused')
  refused(): never {
    throw new HttpRefusal('Too many requests.', 429, { 'Retry-After': 7 });
  }

  @Get('metrics')
  metrics(): StreamableFile {
    return new StreamableFile(Buffer.from('a 1\n'), { type: 'text/plain; version=0.0.4' });
  }
}

@Controller()
@UseInterceptors(PageInterceptor)
class PagesController {
  @Get('some/page')
  page(): PageContent {
    return { title: 'Some <page>', script: 'some.js' };
  }

  @Get('style')
  style(): StaticFile {
    return STYLE;
  }

  @Get('broken')
  broken(): never {
    throw new HttpRefusal('There is no such thing.', 404, {});
  }
}

describe('what a handler returns', () => {
  let app: INestApplication<Server>;
  let url = '';
  beforeAll(async () => {
    const config = { access: {}, hasRole: () => false } as unknown as AppConfig;
    @Module({
      controllers: [AnswersController, PagesController],
      providers: [
        { provide: AppConfig, useValue: config },
        { provide: PinoLogger, useValue: { error: () => undefined } },
        { provide: APP_FILTER, useClass: ErrorFilter },
        { provide: APP_INTERCEPTOR, useClass: AnswerInterceptor },
      ],
    })
    class AnswersModule {}
    app = await NestFactory.create<INestApplication<Server>>(AnswersModule, { logger: false });
    await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
  });
  afterAll(() => app.close());

  async function ask(path: string, method = 'GET') {
    const answer = await fetch(`${url}/${path}`, { method });
    const header = (name: string): string | null => answer.headers.get(name);
    return { status: answer.status, header, text: await answer.text() };
  }

  it('has the status and the headers of an answer', async () => {
    const { status, header, text } = await ask('json');
    expect([status, header('location'), text]).toEqual([201, '/json/1', '{"made":true}']);
  });

  it('is sent unchanged where it is JSON already', async () => {
    const { status, header, text } = await ask('text');
    expect([status, header('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(text).toBe('{"a":1}');
  });

  it('may be nothing but a status', async () => {
    const { status, header, text } = await ask('unchanged');
    expect([status, header('etag'), text]).toEqual([304, '"1"', '']);
  });

  it('may be a refusal with headers', async () => {
    const { status, header, text } = await ask('refused');
    expect([status, header('retry-after')]).toEqual([429, '7']);
    expect(JSON.parse(text)).toMatchObject({ code: 'rate_limited' });
  });

  it('is a page with the headers of pages, for HEAD too', async () => {
    const { status, header, text } = await ask('some/page');
    expect([status, header('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(header('content-security-policy')).toContain("default-src 'none'");
    expect(header('cache-control')).toBe('no-cache');
    expect(header('content-length')).toBe(String(Buffer.byteLength(text)));
    expect(text).toContain('<title>Some &#60;page&#62; ');
    expect(text).toContain('src="../pages/some.js"');
    const head = await ask('some/page', 'HEAD');
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.header('content-length')).toBe(header('content-length'));
  });

  it('is a file with its bytes, for HEAD too', async () => {
    const { status, header, text } = await ask('style');
    expect([status, header('content-type')]).toEqual([200, 'text/css; charset=utf-8']);
    expect(header('content-length')).toBe(String(STYLE.bytes.length));
    expect(header('content-security-policy')).toContain("default-src 'none'");
    expect(text).toBe(STYLE.bytes.toString('utf8'));
    expect(await ask('style')).toMatchObject({ status: 200, text });
    expect(await ask('style', 'HEAD')).toMatchObject({ status: 200, text: '' });
  });

  it('keeps the type of a text as it is', async () => {
    const { header, text } = await ask('metrics');
    expect([header('content-type'), text]).toEqual(['text/plain; version=0.0.4', 'a 1\n']);
  });

  it('has no headers of pages where it is a refusal', async () => {
    const { status, header } = await ask('broken');
    expect([status, header('content-security-policy')]).toEqual([404, null]);
  });
});
