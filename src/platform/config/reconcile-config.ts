import { AppConfig } from './app-config.js';

/** Whether a process holds the books against the chains every day. */
export function reconcilesDaily(config: AppConfig): boolean {
  return config.hasRole('history') && config.history?.reconcilesAt !== undefined;
}

/** For the command that reconciles, whichever roles the environment names. @throws ConfigError */
export function reconcileConfig(env: NodeJS.ProcessEnv = process.env): AppConfig {
  return AppConfig.fromEnv({ ...env, ROLES: 'history', RECONCILE_AT: '00:00' });
}
