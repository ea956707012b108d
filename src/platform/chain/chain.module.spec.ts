import { describe, expect, it } from '@jest/globals';
import { type NetworkConfig } from '../config/app-config.js';
import { Secret } from '../config/secret.js';
import { chainLog } from './chain.module.js';

describe('endpoints in the log', () => {
  const lines: string[] = [];
  const write =
    (level: string) =>
    (_: unknown, text: string): void => {
      lines.push(`${level}: ${text}`);
    };
  const logger = { info: write('info'), warn: write('warn'), error: write('error') };
  const config = {
    chainId: 97,
    network: 'eip155:97',
    usesPublicEndpoints: true,
    rpcUrls: [
      new Secret('https://first.example/a-key'),
      new Secret('https://user:password@second.example:8545/?key=a-key'),
    ],
  } as unknown as NetworkConfig;

  it('have a line with the setting, the host, and what was found and expected', () => {
    const log = chainLog(config, logger);
    log.endpointChanged({ endpoint: '97-1', what: 'wrong_chain', servedChainId: 31_337n });
    log.endpointChanged({ endpoint: '97-0', what: 'unreachable' });
    log.endpointChanged({ endpoint: '97-0', what: 'reachable' });
    expect(lines).toEqual([
      'warn: public RPC endpoints are rate-limited and some keep no logs: for production set RPC_URLS_97',
      'warn: RPC_URLS_97: second.example:8545 serves chain 31337, expected 97',
      'warn: RPC_URLS_97: first.example is unreachable',
      'info: RPC_URLS_97: first.example is reachable again',
    ]);
  });
});
