import { z } from 'zod';

/** Where the chain's container says what lies on its chain, once everything is there. */
export const DEPLOYMENT_PORT = 8546;

const address = z.templateLiteral(['0x', z.string().regex(/^[0-9a-fA-F]{40}$/)]);
const Deployment = z.object({ usd: address, coin: address });

/**
 * The tokens on the sandbox's chain.
 *
 * @param rpcUrl - the chain's JSON-RPC address; its container answers beside it.
 */
export async function readDeployment(rpcUrl: string): Promise<z.infer<typeof Deployment>> {
  const url = new URL(rpcUrl);
  url.port = String(DEPLOYMENT_PORT);
  const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
  return Deployment.parse(await response.json());
}

/** @throws Error when the variable is not set. */
export function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set`);
  return value;
}
