import { z } from 'zod';
import { flagSetting, integerSetting, listOf } from './settings.js';

/** The seller check fetches URLs that callers choose, so it is off by default. */
export const DOCTOR_SETTINGS = {
  DOCTOR: flagSetting.default('false'),
  /** Hosts, or host:port, that may be fetched although they are not public. */
  DOCTOR_ALLOW: listOf(
    z.string().regex(/^[\w.[\]:-]{1,255}$/, 'must be hosts, such as 127.0.0.1:4021'),
  ).default([]),
  /** Checks per minute of one API key, or of one address without a key. */
  RATE_LIMIT_DOCTOR: integerSetting(1, 10_000).default(10),
};

export interface DoctorConfig {
  readonly allow: ReadonlySet<string>;
  readonly checksPerMinute: number;
}

/** @returns `undefined` if the seller check is off. */
export function doctorConfigOf(
  settings: z.infer<z.ZodObject<typeof DOCTOR_SETTINGS>>,
): DoctorConfig | undefined {
  if (settings.DOCTOR === 'false') return undefined;
  return {
    allow: new Set(settings.DOCTOR_ALLOW.map((host) => host.toLowerCase())),
    checksPerMinute: settings.RATE_LIMIT_DOCTOR,
  };
}
