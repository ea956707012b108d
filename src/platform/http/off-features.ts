import type { AppConfig } from '../config/app-config.js';

/** A feature without routes in this process, and the setting that enables it. */
interface Feature {
  readonly paths: RegExp;
  readonly isOn: (config: AppConfig) => boolean;
  readonly name: string;
  /** The setting that enables it. */
  readonly needs: string;
  /** Whether the feature must not be mentioned on the public port. */
  readonly isOpsOnly?: boolean;
}

const FEATURES: readonly Feature[] = [
  {
    paths:
      /^\/(?:(?:v[12]\/)?(?:verify|settle|supported|accepts)$|(?:(?:v[12]\/)?discovery|v2\/(?:settlements|assets))(?:\/|$))/,
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
    paths: /^\/hub\/browse$/,
    isOn: (config) => !config.hub.isPrivate,
    name: 'The page of public files',
    needs: '`HUB_MODE=public`',
  },
  {
    paths: /^\/(?:wallet|mcp|v1\/(?:login|wallets|passkeys|asks|approvals))(?:\/|$)/,
    isOn: (config) => config.wallet !== undefined,
    name: 'The agent wallet',
    needs: '`ROLES` with `wallet`, and `WALLET_PROVIDER`',
  },
  {
    paths: /^\/(?:oauth|\.well-known\/oauth-[a-z-]+)(?:\/|$)/,
    isOn: (config) => config.wallet?.hasOAuth === true,
    name: 'Sign-in of agents by OAuth',
    needs: '`WALLET_OAUTH=true` beside the agent wallet',
  },
  {
    paths: /^\/stats$/,
    isOn: (config) => config.hasRole('api') && config.hasPublicStats,
    name: 'The page of public totals',
    needs: '`ROLES` with `api`, and `PUBLIC_STATS=true`',
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
    paths: /^\/admin\/api\/hub(?:\/|$)/,
    isOn: (config) => config.hasRole('hub') && config.access.apiKeysFile !== undefined,
    name: 'The operators\u2019 API of the file hub',
    needs: '`ROLES` with `hub`, and `API_KEYS_FILE`',
    isOpsOnly: true,
  },
  {
    paths: /^\/admin(?:\/|$)/,
    isOn: (config) => config.hasRole('api') && config.access.apiKeysFile !== undefined,
    name: 'The operators\u2019 console',
    needs: '`ROLES` with `api`, and `API_KEYS_FILE`',
    isOpsOnly: true,
  },
];

/** The disabled feature of a path without a route. */
export function featureOff(url: string, isOps: boolean, config: AppConfig): string | undefined {
  const path = url.split('?', 1)[0] ?? '';
  const feature = FEATURES.find(
    ({ paths, isOn, isOpsOnly }) =>
      paths.test(path) && (isOps || isOpsOnly !== true) && !isOn(config),
  );
  return feature && `${feature.name} is not served by this process. It needs ${feature.needs}.`;
}
