import { describe, expect, it } from '@jest/globals';
import { type NetworkConfig } from '../config/app-config.js';
import { Secret } from '../config/secret.js';
import { chainLog } from './chain-log.js';

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
      'warn: public RPC endpoints limit requests, and some keep no logs: for production set RPC_URLS_97',
      'warn: RPC_URLS_97: second.example:8545 serves chain 31337, expected 97',
      'warn: RPC_URLS_97: first.example is unreachable',
      'info: RPC_URLS_97: first.example is reachable again',
    ]);
  });

  it('that disagree have a line with their hosts and answers, and one when they agree again', () => {
    lines.length = 0;
    const facts: unknown[] = [];
    const log = chainLog(
      { ...config, usesPublicEndpoints: false },
      { ...logger, error: (fields: unknown, text: string) => void facts.push(fields, text) },
    );
    log.endpointsDisagree('receipt', [
      { endpoint: '97-0', answer: 'success' },
      { endpoint: '97-1', answer: 'reverted' },
    ]);
    log.endpointsAgree('receipt', 3);
    expect(facts).toEqual([
      {
        network: 'eip155:97',
        setting: 'RPC_URLS_97',
        what: 'receipt',
        answers: [
          { endpoint: '97-0', host: 'first.example', answer: 'success' },
          { endpoint: '97-1', host: 'second.example:8545', answer: 'reverted' },
        ],
      },
      'RPC endpoints disagree: one of them is wrong',
    ]);
    expect(lines).toEqual(['info: RPC endpoints agree again']);
  });
});
