import { z } from 'zod';
import { type GivenSettings, hostNameSetting, integerSetting, listOf } from './settings.js';

/** Where operators look: a port of its own, which the public one shows nothing of. */
export const OPS_SETTINGS = {
  /** Metrics, the operator page and detailed health are served there, and nowhere without it. */
  OPS_PORT: integerSetting(1, 65_535).optional(),
  OPS_HOST: z.string().default('127.0.0.1'),
  /** Names under which it is asked, beside `localhost` and addresses. */
  OPS_NAMES: listOf(hostNameSetting).default([]),
};

export interface OpsConfig {
  readonly port: number;
  readonly host: string;
  /** Host names, without port, that requests may name. */
  readonly names: readonly string[];
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
  const { OPS_PORT: port, OPS_HOST: host, OPS_NAMES: given } = settings;
  // What it listens at may be a name, too.
  const names = ['localhost', host.toLowerCase(), ...given];
  return port === undefined ? undefined : { port, host, names };
}
