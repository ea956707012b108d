import type { ContractName } from '../../protocol/evm/contracts.js';
import type { EndpointStatement } from './disagreements.js';
import type { Ability } from './refusals.js';

/** Changes in the state of a network, for logs. */
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
  /**
   * Endpoints begin to disagree: one of them is wrong, and no claim is believed meanwhile.
   *
   * @param answers - of the first contradiction, one of each endpoint.
   */
  endpointsDisagree(what: string, answers: readonly EndpointStatement[]): void;
  /** They have not disagreed for a minute. @param times - contradictions until then. */
  endpointsAgree(what: string, times: number): void;
}
