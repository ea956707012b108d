import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { type z } from 'zod';
import { isWithinBounds } from '../../protocol/payment/json-bounds.js';
import { inPlainWords, placeOfIssue } from '../rules/issue-place.js';
import { WalletError } from '../wallet-error.js';

/** Room for the largest rules and for typed data within its own bounds. */
const BODY_BOUNDS = { maxDepth: 24, maxValues: 50_000 } as const;

/** Further faults are not listed. */
const SHOWN_FAULTS_MAX = 8;

/** Validates with the schema of the MCP tool, so that both accept the same. */
export class ZodPipe<T> implements PipeTransform<unknown, T> {
  constructor(private readonly schema: z.ZodType<T>) {}

  /** @throws WalletError `invalid_request` naming each wrong field. */
  transform(value: unknown, { data: parameter }: ArgumentMetadata): T {
    assertWithinBounds(value);
    const parsed = this.schema.safeParse(value, { error: inPlainWords, reportInput: true });
    if (parsed.success) return parsed.data;
    const faults = parsed.error.issues.slice(0, SHOWN_FAULTS_MAX).map((issue) => {
      const place = placeOfIssue(issue, parameter);
      const where = place.path === 'body' ? 'The body' : place.path;
      return { message: `${where}: ${issue.message}`, place };
    });
    const message = faults.map((fault) => fault.message).join('; ');
    throw new WalletError('invalid_request', message, { place: faults[0]?.place });
  }
}

/** @throws WalletError `invalid_request` */
export function assertWithinBounds(body: unknown): void {
  if (isWithinBounds(body, BODY_BOUNDS)) return;
  const { maxDepth, maxValues } = BODY_BOUNDS;
  throw new WalletError('invalid_request', 'The body is nested too deep, or has too many values.', {
    place: { path: 'body', expected: `at most ${maxDepth} levels and ${maxValues} values` },
  });
}
