import { formatEther, formatGwei } from 'viem';
import type { AppConfig } from './app-config.js';

/** The limits in force, as one line for the log, so that an operator sees a missing limit. */
export function limitsLine({ networks, queueMax, access, admission }: AppConfig): string {
  const ofNetworks = networks.map((one) => {
    const { network, maxGasPriceWei, dailyGasBudgetWei, dailyPayeeGasBudgetWei } = one;
    return [
      `gas a day on ${network}: ${coins(dailyGasBudgetWei)} per lane, ${coins(dailyPayeeGasBudgetWei)} per payee`,
      `gas price on ${network}: ${formatGwei(maxGasPriceWei)} gwei`,
    ];
  });
  const { settle } = access.rateLimits;
  return `Limits: ${[
    ...ofNetworks.flat(),
    `settles per second and caller: ${settle === 0 ? 'unlimited' : settle}`,
    `settlements waiting per network: ${queueMax}`,
    `callers: ${callersOf(access)}`,
    `assets: ${admission.assetsAllow === undefined ? 'all' : admission.assetsAllow.size}`,
    `payees: ${admission.payeesAllow === undefined ? 'all' : admission.payeesAllow.size}`,
  ].join('; ')}`;
}

function callersOf({ apiKeysFile, openScopes }: AppConfig['access']): string {
  if (apiKeysFile === undefined) return 'everybody';
  return openScopes.size === 0
    ? 'API keys'
    : `API keys; without one: ${[...openScopes].join(', ')}`;
}

function coins(wei: bigint | undefined): string {
  return wei === undefined ? 'unlimited' : `${formatEther(wei)} coins`;
}
