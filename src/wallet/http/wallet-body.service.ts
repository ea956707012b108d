import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { z } from 'zod';
import { JsonBodyReader } from '../../platform/http/request-body.js';
import { isWithinBounds } from '../../protocol/payment/json-bounds.js';
import { WalletError } from '../wallet-error.js';

/** Room for the largest rules and for typed data within its own bounds. */
const BODY_BOUNDS = { maxDepth: 24, maxValues: 50_000 } as const;

/** Bodies of requests to the wallet. They are read after it is known who asks. */
@Injectable()
export class WalletBody {
  constructor(private readonly bodies: JsonBodyReader) {}

  /** The JSON body, of whatever shape. @throws WalletError */
  async json(request: Request): Promise<unknown> {
    const { res: response } = request;
    if (response === undefined) throw new TypeError('Express links each request to its response');
    const body = await this.bodies.json(request, response);
    if (isWithinBounds(body, BODY_BOUNDS)) return body;
    throw new WalletError(
      'invalid_request',
      'The body is nested too deep, or has too many values.',
    );
  }

  /** The JSON body by its schema. @throws WalletError `invalid_request` naming what is wrong. */
  async of<T>(request: Request, schema: z.ZodType<T>): Promise<T> {
    const parsed = schema.safeParse(await this.json(request));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const where = issue?.path.map(String).join('.') ?? '';
    throw new WalletError(
      'invalid_request',
      `${where === '' ? 'The body' : where}: ${issue?.message ?? 'is not valid'}`,
    );
  }
}
