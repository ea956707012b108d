import { validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { WalletError } from '../wallet-error.js';

/** Against DNS rebinding: other pages in a browser on this machine cannot call the service. */
@Injectable()
export class McpSiteGuard implements CanActivate {
  constructor(private readonly config: AppConfig) {}

  /** @throws WalletError */
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<Request>();
    const { mcpHosts = [], mcpOrigins = [] } = this.config.wallet ?? {};
    if (!validateHostHeader(headers.host, [...mcpHosts]).ok) {
      throw new WalletError(
        'forbidden',
        'This wallet does not serve MCP under this host name: see WALLET_MCP_HOSTS.',
      );
    }
    if (!validateOriginHeader(headers.origin, [...mcpOrigins]).ok) {
      throw new WalletError(
        'forbidden',
        'This wallet does not serve MCP to this origin: see WALLET_MCP_ORIGINS.',
      );
    }
    return true;
  }
}
