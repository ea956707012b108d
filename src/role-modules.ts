import type { DynamicModule, Type } from '@nestjs/common';
import type { AppConfig } from './platform/config/app-config.js';
import type { WalletConfig } from './platform/config/wallet-settings.js';
import type { OpenApiPart } from './platform/http/openapi.js';

/** The parts that a role adds to a process. */
interface RoleParts {
  readonly modules: readonly (DynamicModule | Type)[];
  readonly openapi: readonly OpenApiPart[];
  /** Of the port for operators. */
  readonly operatorsOpenapi: readonly OpenApiPart[];
}

const NO_PARTS: RoleParts = { modules: [], openapi: [], operatorsOpenapi: [] };

/**
 * The hub, loaded only where it is: modules and what they bring stay in memory, used or not.
 *
 * @param own - what it gets from this process; `undefined` where it does not have the role.
 */
export async function hubParts(
  config: AppConfig,
  own: Pick<DynamicModule, 'imports' | 'providers'> | undefined,
  hasOperators: boolean,
): Promise<RoleParts> {
  if (own === undefined) return NO_PARTS;
  const [{ HubModule }, { HUB_OPENAPI }] = await Promise.all([
    import('./hub/hub.module.js'),
    import('./hub/hub.openapi.js'),
  ]);
  const hub = HubModule.forRoot(config, own);
  const parts = { ...NO_PARTS, modules: [hub], openapi: [HUB_OPENAPI] };
  if (!hasOperators) return parts;
  const [{ HubOperatorsModule }, { HUB_OPERATORS_OPENAPI }] = await Promise.all([
    import('./hub/operators/operators.module.js'),
    import('./hub/operators/operators.openapi.js'),
  ]);
  return {
    ...parts,
    modules: [hub, { module: HubOperatorsModule, imports: [hub] }],
    operatorsOpenapi: [HUB_OPERATORS_OPENAPI],
  };
}

/** The wallet, likewise; `undefined` where this process does not have the role. */
export async function walletParts(wallet: WalletConfig | undefined): Promise<RoleParts> {
  if (wallet === undefined) return NO_PARTS;
  const [{ WalletModule }, { WALLET_OPENAPI }] = await Promise.all([
    import('./wallet/wallet.module.js'),
    import('./wallet/openapi/wallet.openapi.js'),
  ]);
  const parts = { ...NO_PARTS, modules: [WalletModule], openapi: [WALLET_OPENAPI] };
  if (!wallet.hasOAuth) return parts;
  const { WalletOAuthModule } = await import('./wallet/oauth/oauth.module.js');
  return { ...parts, modules: [...parts.modules, WalletOAuthModule] };
}
