import { Controller, Get, Inject, UseFilters, UseGuards } from '@nestjs/common';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import {
  CLIENT_AUTH_METHODS,
  OAUTH_PATHS,
  resourceOf,
  type Scope,
  scopesOffered,
} from './oauth-names.js';

type Metadata = Readonly<Record<string, unknown>>;

/** How clients discover where to sign in; nothing here is secret. */
@Controller('.well-known')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('anybody')
export class OAuthMetadataController {
  readonly #publicUrl: string;
  readonly #scopes: readonly Scope[];

  constructor(@Inject(WALLET_SETTINGS) settings: WalletConfig) {
    this.#publicUrl = settings.publicUrl;
    this.#scopes = scopesOffered(settings);
  }

  /** RFC 9728. Clients look below the path of the resource first. */
  @Get(['oauth-protected-resource', 'oauth-protected-resource/mcp'])
  resource(): Metadata {
    return {
      resource: resourceOf(this.#publicUrl),
      authorization_servers: [this.#publicUrl],
      scopes_supported: this.#scopes,
      bearer_methods_supported: ['header'],
      resource_name: 'Agent wallet',
      resource_documentation: `${this.#publicUrl}/docs`,
    };
  }

  /** RFC 8414. It names what is served, which is less than the library can do. */
  @Get('oauth-authorization-server')
  server(): Metadata {
    const at = (path: string): string => `${this.#publicUrl}${path}`;
    return {
      issuer: this.#publicUrl,
      authorization_endpoint: at(OAUTH_PATHS.authorization),
      token_endpoint: at(OAUTH_PATHS.token),
      registration_endpoint: at(OAUTH_PATHS.registration),
      revocation_endpoint: at(OAUTH_PATHS.revocation),
      scopes_supported: this.#scopes,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
      revocation_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    };
  }
}
