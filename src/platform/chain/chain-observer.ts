import type { ContractName } from '../../protocol/evm/contracts.js';
import type { Ability } from './refusals.js';

/** Told when what is known about a network changes; for logs. */
export interface ChainObserver {
  endpointChanged(change: {
    readonly endpoint: string;
    readonly what:
      'wrong_chain' | 'unreachable' | 'reachable' | 'no_logs' | 'cannot_answer' | 'answers_again';
    /** Of `wrong_chain`: the chain that it serves. */
    readonly servedChainId?: bigint;
    /** Of what it cannot answer, or answers again. */
    readonly ability?: Ability;
  }): void;
  contractFound(contract: ContractName, isPresent: boolean): void;
  /** Two endpoints contradict each other: one of them is wrong, and nothing is believed meanwhile. */
  endpointsDisagree(what: string): void;
}
