import { z } from 'zod';
import { HTTP_URL } from './settings.js';

/** Traces are off without `TRACES_URL`. */
export const TRACES_SETTINGS = {
  /** Endpoint for spans (OTLP over HTTP, JSON). The whole URL, such as `http://collector:4318/v1/traces`. */
  TRACES_URL: HTTP_URL.optional(),
  /** Percentage of traced requests: 0.1 to 100. */
  TRACES_PERCENT: z.coerce
    .number({ error: 'must be a number from 0 to 100' })
    .min(0, 'must be a number from 0 to 100')
    .max(100, 'must be a number from 0 to 100')
    .default(100),
  TRACES_SERVICE: z
    .string()
    .regex(/^[\w.-]{1,64}$/, 'must be at most 64 letters, digits, dots and dashes')
    .default('x402-settle'),
};

export interface TracesConfig {
  readonly url: string;
  /** 0 to 1. */
  readonly ratio: number;
  readonly service: string;
}

/** @returns `undefined` if traces are off. */
export function tracesConfigOf(
  settings: z.infer<z.ZodObject<typeof TRACES_SETTINGS>>,
): TracesConfig | undefined {
  if (settings.TRACES_URL === undefined) return undefined;
  return {
    url: settings.TRACES_URL,
    ratio: settings.TRACES_PERCENT / 100,
    service: settings.TRACES_SERVICE,
  };
}
