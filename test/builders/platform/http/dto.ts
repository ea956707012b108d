import type { Type } from '@nestjs/common';
import { RequestPipe } from '../../../../src/platform/http/request.pipe.js';

const pipe = new RequestPipe();

/** A body as its handler gets it. @throws CodedError */
export const readBody = async <T>(metatype: Type<T>, body: unknown): Promise<T> =>
  (await pipe.transform(body, { type: 'body', metatype })) as T;

/** A query, likewise. */
export const readQuery = async <T>(metatype: Type<T>, query: unknown): Promise<T> =>
  (await pipe.transform(query, { type: 'query', metatype })) as T;
