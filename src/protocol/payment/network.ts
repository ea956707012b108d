/**
 * Names of EVM networks: CAIP-2 (`eip155:<chain id>`) in x402 V2, short names in V1.
 */

/**
 * The form of a CAIP-2 name of an EVM chain (https://chainagnostic.org/CAIPs/caip-2). It counts digits only:
 * {@link isCaip2} also asks that the chain id is a safe integer.
 */
export const CAIP2_EVM = /^eip155:[1-9][0-9]{0,15}$/;

/** The chain id of a CAIP-2 name, or `undefined` when it is not one of an EVM chain. */
export function chainIdOf(network: string): number | undefined {
  if (!CAIP2_EVM.test(network)) return undefined;
  const chainId = Number(network.slice(7));
  return Number.isSafeInteger(chainId) ? chainId : undefined;
}

/** Whether a value is the CAIP-2 name of an EVM chain, up to `Number.MAX_SAFE_INTEGER`. */
export function isCaip2(value: unknown): value is string {
  return typeof value === 'string' && chainIdOf(value) !== undefined;
}

export function caip2Of(chainId: number): string {
  return `eip155:${chainId}`;
}

/**
 * V1 short names. The first two are those third-party clients on BNB Chain send; the last is ours, for
 * chains on one's own machine; the others are the names of the x402 V1 specification and SDKs.
 */
const V1_CHAIN_IDS: ReadonlyMap<string, number> = new Map([
  ['bsc', 56],
  ['bsc-testnet', 97],
  ['ethereum', 1],
  ['sepolia', 11_155_111],
  ['abstract', 2741],
  ['abstract-testnet', 11_124],
  ['base-sepolia', 84_532],
  ['base', 8453],
  ['avalanche-fuji', 43_113],
  ['avalanche', 43_114],
  ['iotex', 4689],
  ['sei', 1329],
  ['sei-testnet', 1328],
  ['polygon', 137],
  ['polygon-amoy', 80_002],
  ['peaq', 3338],
  ['story', 1514],
  ['educhain', 41_923],
  ['skale-base-sepolia', 324_705_682],
  ['megaeth', 4326],
  ['monad', 143],
  ['stable', 988],
  ['stable-testnet', 2201],
  ['celo', 42_220],
  ['flare', 14],
  ['anvil', 31_337],
]);

/** Every V1 short name that is known. */
export const NETWORK_NAMES: readonly string[] = [...V1_CHAIN_IDS.keys()];

const V1_NAMES: ReadonlyMap<number, string> = new Map(
  [...V1_CHAIN_IDS].map(([name, chainId]) => [chainId, name]),
);

/** The chain id of a V1 short name. */
export function chainIdOfV1Name(name: string): number | undefined {
  return V1_CHAIN_IDS.get(name);
}

/** The V1 short name of a chain; `undefined` for chains that V1 has no name for. */
export function v1NameOf(chainId: number): string | undefined {
  return V1_NAMES.get(chainId);
}
