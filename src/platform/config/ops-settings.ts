import { z } from 'zod';
import { type GivenSettings, integerSetting } from './settings.js';

/** Where operators look: a port of its own, which the public one shows nothing of. */
export const OPS_SETTINGS = {
  /** Metrics, the operator page and detailed health are served there, and nowhere without it. */
  OPS_PORT: integerSetting(1, 65_535).optional(),
  OPS_HOST: z.string().default('127.0.0.1'),
};

export interface OpsConfig {
  readonly port: number;
  readonly host: string;
}

export function opsProblems(given: GivenSettings): string[] {
  const { OPS_PORT: port, PORT: publicPort = '4022' } = given;
  return port !== undefined && port === publicPort
    ? ['OPS_PORT: must be another port than PORT, which is public']
    : [];
}

/** @returns `undefined` when it is off. */
export function opsConfigOf(
  settings: z.infer<z.ZodObject<typeof OPS_SETTINGS>>,
): OpsConfig | undefined {
  const { OPS_PORT: port, OPS_HOST: host } = settings;
  return port === undefined ? undefined : { port, host };
}
