import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import type { z } from 'zod';
import { isWithinBounds } from '../../protocol/payment/json-bounds.js';
import { WalletError } from '../wallet-error.js';

/** Room for the largest rules and for typed data within its own bounds. */
const BODY_BOUNDS = { maxDepth: 24, maxValues: 50_000 } as const;

/** Validates by the schema that a tool of MCP takes as well, so that both take the same. */
export class ZodPipe<T> implements PipeTransform<unknown, T> {
  constructor(private readonly schema: z.ZodType<T>) {}

  /** @throws WalletError `invalid_request` naming what is wrong. */
  transform(value: unknown, { data: parameter }: ArgumentMetadata): T {
    assertWithinBounds(value);
    const parsed = this.schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const where = [parameter ?? [], issue?.path ?? []].flat().map(String).join('.');
    throw new WalletError(
      'invalid_request',
      `${where === '' ? 'The body' : where}: ${issue?.message ?? 'is not valid'}`,
    );
  }
}

/** @throws WalletError `invalid_request` */
export function assertWithinBounds(body: unknown): void {
  if (isWithinBounds(body, BODY_BOUNDS)) return;
  throw new WalletError('invalid_request', 'The body is nested too deep, or has too many values.');
}
