import { Writable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { Logger as NestLogger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Logger, LoggerModule } from 'nestjs-pino';
import type { AppConfig } from '../config/app-config.js';
import { logging, logLibraryWarnings } from './logging.js';

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
  new NestLogger('NestApplication').error('the port is in use');
  new NestLogger('RouterExplorer').error('an error of the framework');
  await app.close();
  expect(lines).toContainEqual({ level: 20, msg: 'Nest application successfully started' });
  expect(lines.filter(({ level }) => level > 20)).toEqual([
    { level: 30, msg: 'a line of a feature' },
    { level: 40, msg: 'a warning of the framework' },
    { level: 50, msg: 'an error of the framework' },
  ]);
});

/* eslint-disable no-console -- the spec warns as a library does */
it('writes a warning of a library once, as a line of the log', () => {
  const lines: string[] = [];
  const original = console.warn;
  try {
    logLibraryWarnings((text) => lines.push(text));
    console.warn('Eviction policy is', 'allkeys-lru');
    console.warn('Eviction policy is', 'allkeys-lru');
    console.warn('another');
  } finally {
    console.warn = original;
  }
  expect(lines).toEqual(['Eviction policy is allkeys-lru', 'another']);
});
/* eslint-enable no-console */
