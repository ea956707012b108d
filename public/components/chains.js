/** What is known of chains and tokens, for all that shows an address or an amount. */

import { createContext } from './html.js';

const key = (network, asset) => `${network}/${asset}`.toLowerCase();

/**
 * @param assets - as `GET /v2/assets` has them.
 * @param networks - `{ network, explorer?, coin? }` each.
 */
export function chainFacts(assets = [], networks = []) {
  const tokens = new Map(assets.map((one) => [key(one.network, one.asset), one]));
  const chains = new Map(networks.map((one) => [one.network, one]));
  return {
    tokenOf: (network, asset) => tokens.get(key(network, asset)),
    coinOf: (network) => chains.get(network)?.coin ?? 'coins',
    /** @param kind - `address` or `tx`. */
    linkOf(network, kind, value) {
      const explorer = chains.get(network)?.explorer;
      return explorer === undefined ? undefined : `${explorer}/${kind}/${value}`;
    },
  };
}

export const Chains = createContext(chainFacts());
