import { Writable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { Logger as NestLogger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Logger, LoggerModule } from 'nestjs-pino';
import type { AppConfig } from '../config/app-config.js';
import { logging } from './logging.js';

it('writes what the framework says of its own start at debug, and its warnings as they are', async () => {
  const lines: { level: number; msg: string }[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      const { level, msg } = JSON.parse(chunk.toString()) as (typeof lines)[number];
      lines.push({ level, msg });
      done();
    },
  });
  const params = logging({ logLevel: 'debug' } as AppConfig);
  const module = LoggerModule.forRoot({ ...params, pinoHttp: [params.pinoHttp, stream] as never });
  const app = await NestFactory.create(module, { bufferLogs: true });
  app.useLogger(app.get(Logger));
  await app.listen(0, '127.0.0.1');
  new NestLogger('Feature').log('a line of a feature');
  new NestLogger('RouterExplorer').warn('a warning of the framework');
  await app.close();
  expect(lines).toContainEqual({ level: 20, msg: 'Nest application successfully started' });
  expect(lines.filter(({ level }) => level > 20)).toEqual([
    { level: 30, msg: 'a line of a feature' },
    { level: 40, msg: 'a warning of the framework' },
  ]);
});
