import type { AppConfig } from '../config/app-config.js';

/** A part of the service that has no routes in this process, and the setting that gives it some. */
interface Feature {
  readonly paths: RegExp;
  readonly isOn: (config: AppConfig) => boolean;
  readonly text: string;
  /** Only the operators' port says so. */
  readonly isOpsOnly?: boolean;
}

const FEATURES: readonly Feature[] = [
  {
    paths: /^\/(?:v[12]\/)?(?:verify|settle|supported|accepts)$/,
    isOn: (config) => config.hasRole('api'),
    text: 'This process serves no payments: `ROLES` does not name `api`.',
  },
  {
    paths: /^\/(?:hub|api)(?:\/|$)/,
    isOn: (config) => config.hasRole('hub'),
    text: 'The file hub is off in this process: `ROLES` does not name `hub`.',
  },
  {
    paths: /^\/(?:wallet|mcp|oauth|v1\/(?:login|wallets|passkeys|asks|approvals))(?:\/|$)/,
    isOn: (config) => config.wallet !== undefined,
    text: 'The agent wallet is off in this process: `ROLES` does not name `wallet`.',
  },
  {
    paths: /^\/(?:v2\/)?doctor(?:\/|$)/,
    isOn: (config) => config.doctor !== undefined,
    text: 'The seller check is off: `DOCTOR` is not `true`.',
  },
  {
    paths: /^\/v2\/webhooks(?:\/|$)/,
    isOn: (config) => config.webhooks !== undefined && config.access.apiKeysFile !== undefined,
    text: 'Webhooks are off: they need `DATABASE_URL`, `WEBHOOK_KEY` and `API_KEYS_FILE`.',
  },
  {
    paths: /^\/admin(?:\/|$)/,
    isOn: (config) => config.access.apiKeysFile !== undefined,
    text: 'The operators\u2019 console is off: it needs `API_KEYS_FILE`.',
    isOpsOnly: true,
  },
];

/** Why a path that has no route has none, where a setting is the reason. */
export function featureOff(url: string, isOps: boolean, config: AppConfig): string | undefined {
  const path = url.split('?', 1)[0] ?? '';
  return FEATURES.find(
    ({ paths, isOn, isOpsOnly }) =>
      paths.test(path) && (isOps || isOpsOnly !== true) && !isOn(config),
  )?.text;
}
