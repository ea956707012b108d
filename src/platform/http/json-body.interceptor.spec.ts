import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  type INestApplication,
  Module,
  type NestApplicationOptions,
  Param,
  Post,
  Req,
  UseGuards,
} from '@nestjs/common';
import { APP_INTERCEPTOR, APP_PIPE, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Request } from 'express';
import { JsonBodyInterceptor } from './json-body.interceptor.js';
import { RequestPipe } from './request.pipe.js';
import { JsonBodyReader } from './request-body.js';
import { IsOneOf } from './validators.js';

const read: string[] = [];

class NoteDto {
  @IsOneOf(['a', 'b'])
  readonly note!: string;
}

class NobodyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest<Request>().headers['x-key'] === 'known';
  }
}

abstract class Base {
  @Post('inherited')
  inherited(@Body() { note }: NoteDto): string {
    return note;
  }
}

@Controller()
class NotesController extends Base {
  @Post('notes/:id')
  @UseGuards(NobodyGuard)
  note(@Param('id') id: string, @Body() body: NoteDto): string {
    return `${id} ${body.note} ${String(body instanceof NoteDto)}`;
  }

  @Post('plain')
  plain(@Req() request: Request): string {
    return String(request.body);
  }
}

describe('the body of a handler', () => {
  let app: INestApplication<Server>;
  let url = '';
  beforeAll(async () => {
    const reader: Pick<JsonBodyReader, 'json'> = {
      json: async (request) => {
        read.push(request.url ?? '');
        let text = '';
        for await (const chunk of request) text += String(chunk);
        return JSON.parse(text) as unknown;
      },
    };
    @Module({
      controllers: [NotesController],
      providers: [
        { provide: JsonBodyReader, useValue: reader },
        { provide: APP_INTERCEPTOR, useClass: JsonBodyInterceptor },
        { provide: APP_PIPE, useClass: RequestPipe },
      ],
    })
    class NotesModule {}
    const options: NestApplicationOptions = { bodyParser: false, logger: false };
    app = await NestFactory.create<NestExpressApplication>(NotesModule, options);
    await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
  });
  afterAll(() => app.close());

  const send = async (path: string, body: unknown, key = ''): Promise<[number, string]> => {
    const headers = { 'x-key': key };
    const sent = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(url + path, sent);
    read.sort();
    return [response.status, await response.text()];
  };

  it('is read before pipes: they make it what its class says', async () => {
    expect(await send('/notes/7', { note: 'a' }, 'known')).toEqual([201, '7 a true']);
    expect(await send('/inherited', { note: 'b' })).toEqual([201, 'b']);
  });

  it('is not read for a caller that a guard sends away', async () => {
    read.length = 0;
    expect((await send('/notes/7', { note: 'a' }))[0]).toBe(403);
    expect(read).toEqual([]);
  });

  it('is not read for a handler without `@Body()`', async () => {
    read.length = 0;
    expect(await send('/plain', { note: 'a' })).toEqual([201, 'undefined']);
    expect(read).toEqual([]);
  });
});
