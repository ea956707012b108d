import type { AppConfig } from '../../platform/config/app-config.js';

/** Whether a process of these settings asks for what is listed. */
export function probesListings(config: Pick<AppConfig, 'hasRole' | 'history'>): boolean {
  return config.hasRole('history') && config.history?.catalogue?.probes === true;
}
