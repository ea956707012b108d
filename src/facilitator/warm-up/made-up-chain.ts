import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Address } from 'viem';
import { quantity } from '../../platform/chain/block.js';
import type { NetworkConfig } from '../../platform/config/app-config.js';
import { Secret } from '../../platform/config/secret.js';
import { sendJson } from '../../platform/http/json.js';
import { JsonBodyReader } from '../../platform/http/request-body.js';
import { DEFAULT_SCHEME_CONTRACTS } from '../../protocol/evm/contracts.js';

/** In the range for private use, which no deployment can name. */
export const CHAIN_ID = 2_147_483_646;
export const MADE_UP_TOKEN: Address = `0x${'70'.repeat(20)}`;

/** `BODY_MAX_BYTES` limits the bodies of sellers; a joint call of many payments is longer. */
const BODIES = new JsonBodyReader({ bodyMaxBytes: 1024 ** 2 });

/** @param rpcUrl - the URL at which {@link answerRpc} answers. */
export function madeUpNetwork(rpcUrl: string): NetworkConfig {
  return {
    chainId: CHAIN_ID,
    network: `eip155:${CHAIN_ID}`,
    rpcUrls: [new Secret(rpcUrl)],
    usesPublicEndpoints: false,
    signerKeys: [],
    schemeContracts: DEFAULT_SCHEME_CONTRACTS,
    maxGasPriceWei: 1n,
    dailyGasBudgetWei: undefined,
    dailyPayeeGasBudgetWei: undefined,
    knownTokens: [],
  };
}

/** Answers JSON-RPC like a node on whose chain every call returns and only the token has code. */
export async function answerRpc(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const asked = (await BODIES.json(request, response)) as RpcRequest | readonly RpcRequest[];
  const answered = [asked].flat().map(({ id, method, params }) => ({
    jsonrpc: '2.0',
    id,
    result: resultOf(method, params),
  }));
  sendJson(response, 200, Array.isArray(asked) ? answered : answered[0]);
}

interface RpcRequest {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

function resultOf(method: string, [subject]: readonly unknown[]): unknown {
  switch (method) {
    case 'eth_chainId':
      return quantity(CHAIN_ID);
    case 'eth_getBlockByNumber':
      return { ...BLOCK, timestamp: quantity(Math.floor(Date.now() / 1000)) };
    case 'eth_getCode':
      return subject === MADE_UP_TOKEN ? '0x01' : '0x';
    case 'eth_call':
      return callResult(subject as { readonly to?: string; readonly data: string });
    default:
      return null;
  }
}

const BLOCK = {
  number: quantity(1),
  hash: `0x${'11'.repeat(32)}`,
  gasLimit: quantity(30_000_000),
  baseFeePerGas: quantity(1),
};

/**
 * A program of many questions, see `encodeBatchCall`: it reads accounts, or returns a byte for each call and one more.
 */
const LOOKS = /73([0-9a-f]{40})3b1515/g;
const RETURN = /61([0-9a-f]{4})6000f3/;
const WORD_OF_ONE = `0x${'1'.padStart(64, '0')}`;

function callResult({ to, data }: { readonly to?: string; readonly data: string }): string {
  if (to !== undefined) return WORD_OF_ONE;
  const accounts = [...data.matchAll(LOOKS)].map(([, account]) => `0x${account}`);
  if (accounts.length > 0) {
    return `0x01${accounts.map((one) => (one === MADE_UP_TOKEN ? '01' : '00')).join('')}`;
  }
  const bytes = parseInt(RETURN.exec(data)?.[1] ?? '1', 16);
  return `0x${'01'.repeat(bytes)}`;
}
