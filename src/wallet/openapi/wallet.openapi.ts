import type { OpenApiPart } from '../../platform/http/openapi.js';
import { WALLET_SCHEMAS } from './schemas.js';
import { MCP_PATHS } from './wallets.openapi.js';

/** The OpenAPI part of the wallet; only where the wallet runs. */
export const WALLET_OPENAPI: OpenApiPart = {
  tags: [
    {
      name: 'Agent wallet',
      description: 'Wallets of owners, from which their agents pay within the rules.',
    },
  ],
  paths: MCP_PATHS,
  schemas: WALLET_SCHEMAS,
  securitySchemes: {
    walletToken: {
      type: 'http',
      scheme: 'bearer',
      description: "An agent's or an owner's token. `/mcp` takes an agent's alone.",
    },
  },
};
