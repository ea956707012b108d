import type { AppConfig } from '../config/app-config.js';

/** A part of the service that has no routes in this process, and the setting that gives it some. */
interface Feature {
  readonly paths: RegExp;
  readonly isOn: (config: AppConfig) => boolean;
  readonly name: string;
  /** The setting that turns it on. */
  readonly needs: string;
  /** The public port does not say that there is such a thing. */
  readonly isOpsOnly?: boolean;
}

const FEATURES: readonly Feature[] = [
  {
    paths: /^\/(?:v[12]\/)?(?:verify|settle|supported|accepts)$/,
    isOn: (config) => config.hasRole('api'),
    name: 'The facilitator',
    needs: '`ROLES` with `api`',
  },
  {
    paths: /^\/(?:hub|api|v1\/(?:buckets|objects|conversations|owners|overview|seal))(?:\/|$)/,
    isOn: (config) => config.hasRole('hub'),
    name: 'The file hub',
    needs: '`ROLES` with `hub`',
  },
  {
    paths: /^\/(?:wallet|mcp|oauth|v1\/(?:login|wallets|passkeys|asks|approvals))(?:\/|$)/,
    isOn: (config) => config.wallet !== undefined,
    name: 'The agent wallet',
    needs: '`ROLES` with `wallet`, and `WALLET_PROVIDER`',
  },
  {
    paths: /^\/(?:v2\/)?doctor(?:\/|$)/,
    isOn: (config) => config.hasRole('api') && config.doctor !== undefined,
    name: 'The seller check',
    needs: '`ROLES` with `api`, and `DOCTOR=true`',
  },
  {
    paths: /^\/v2\/webhooks(?:\/|$)/,
    isOn: (config) => config.hasRole('api') && config.webhooks !== undefined,
    name: 'The API of webhooks',
    needs: '`ROLES` with `api`, `DATABASE_URL`, `WEBHOOK_KEY` and `API_KEYS_FILE`',
  },
  {
    paths: /^\/admin(?:\/|$)/,
    isOn: (config) => config.hasRole('api') && config.access.apiKeysFile !== undefined,
    name: 'The operators\u2019 console',
    needs: '`ROLES` with `api`, and `API_KEYS_FILE`',
    isOpsOnly: true,
  },
];

/** Which feature a path without a route belongs to, where that feature is off in this process. */
export function featureOff(url: string, isOps: boolean, config: AppConfig): string | undefined {
  const path = url.split('?', 1)[0] ?? '';
  const feature = FEATURES.find(
    ({ paths, isOn, isOpsOnly }) =>
      paths.test(path) && (isOps || isOpsOnly !== true) && !isOn(config),
  );
  return feature && `${feature.name} is not served by this process. It needs ${feature.needs}.`;
}
