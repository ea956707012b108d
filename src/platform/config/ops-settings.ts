import { z } from 'zod';
import { type GivenSettings, hostNameSetting, integerSetting, listOf } from './settings.js';

/** The port for operators, separate from the public one. */
export const OPS_SETTINGS = {
  /** Port of metrics, the operators' console and detailed health. Without it they are off. */
  OPS_PORT: integerSetting(1, 65_535).optional(),
  OPS_HOST: z.string().default('127.0.0.1'),
  /** Host names of the port, besides `localhost` and addresses. */
  OPS_NAMES: listOf(hostNameSetting).default([]),
};

export interface OpsConfig {
  readonly port: number;
  readonly host: string;
  /** Allowed host names of requests, without port. */
  readonly names: readonly string[];
}

export function opsProblems(given: GivenSettings): string[] {
  const { OPS_PORT: port, PORT: publicPort = '4022' } = given;
  return port !== undefined && port === publicPort
    ? ['OPS_PORT: must be another port than PORT, which is public']
    : [];
}

/** @returns `undefined` without `OPS_PORT`. */
export function opsConfigOf(
  settings: z.infer<z.ZodObject<typeof OPS_SETTINGS>>,
): OpsConfig | undefined {
  const { OPS_PORT: port, OPS_HOST: host, OPS_NAMES: given } = settings;
  // OPS_HOST may be a host name.
  const names = ['localhost', host.toLowerCase(), ...given];
  return port === undefined ? undefined : { port, host, names };
}
