import { isHex, type Address, type Hex } from 'viem';
import type { Call } from '../core/exact/calls.js';
import type { CallOutcome, ChainReader } from '../core/exact/chain-reader.js';
import { ChainUnavailableError } from '../core/errors.js';
import { quantity } from './block.js';
import type { ContractPresence } from './contract-presence.js';
import { type EndpointHealth, noteFailure } from './endpoint-health.js';
import { readCallOutcome } from './rpc/rpc-classes.js';

/** Long enough for a slow node, short enough to ask another one within a client's patience. */
const READ_TIMEOUT_MS = 2500;

/** A block to read at: the newest, or one block by its hash (EIP-1898), whatever becomes of it. */
export type BlockPoint = 'latest' | { readonly blockHash: Hex };

/** Reads of one chain through one endpoint, so that they agree with each other. */
export class ChainView implements ChainReader {
  constructor(
    readonly chainId: number,
    readonly permit2Proxy: Address,
    readonly health: EndpointHealth,
    private readonly contracts: ContractPresence,
  ) {}

  async hasCode(address: Address, at: BlockPoint = 'latest'): Promise<boolean> {
    const code = await this.read('eth_getCode', [address, at]);
    if (!isHex(code)) throw this.#unavailable('eth_getCode');
    return code !== '0x';
  }

  isContract(asset: Address): Promise<boolean> {
    return this.contracts.isContract(asset, () => this.hasCode(asset));
  }

  async call(call: Call, gas?: bigint, at: BlockPoint = 'latest'): Promise<CallOutcome> {
    return this.callFrom(undefined, call, gas, at);
  }

  async callFrom(
    from: Address | undefined,
    { to, data }: Call,
    gas: bigint | undefined,
    at: BlockPoint = 'latest',
  ): Promise<CallOutcome> {
    const transaction = {
      to,
      data,
      ...(from !== undefined && { from }),
      ...(gas !== undefined && { gas: quantity(gas) }),
    };
    const { endpoint } = this.health;
    const answer = await endpoint.request('eth_call', [transaction, at], READ_TIMEOUT_MS);
    const outcome = readCallOutcome(answer);
    if (outcome === undefined) throw this.#unavailable('eth_call');
    return outcome;
  }

  /** @throws ChainUnavailableError when this endpoint does not answer with a result. */
  async read(method: string, params: readonly unknown[]): Promise<unknown> {
    const answer = await this.health.endpoint.request(method, params, READ_TIMEOUT_MS);
    if (answer.kind !== 'result') throw this.#unavailable(method);
    return answer.value;
  }

  #unavailable(operation: string): ChainUnavailableError {
    noteFailure(this.health);
    return new ChainUnavailableError(this.chainId, operation);
  }
}
