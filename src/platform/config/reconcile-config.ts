import { AppConfig } from './app-config.js';

/** Whether a process runs the daily reconciliation. */
export function reconcilesDaily(config: AppConfig): boolean {
  return config.hasRole('history') && config.history?.reconcilesAt !== undefined;
}

/**
 * The settings of the command `reconcile`, independent of `ROLES`.
 *
 * @throws ConfigError
 */
export function reconcileConfig(env: NodeJS.ProcessEnv = process.env): AppConfig {
  return AppConfig.fromEnv({ ...env, ROLES: 'history', RECONCILE_AT: '00:00' });
}
