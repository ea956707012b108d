import { Inject, Injectable } from '@nestjs/common';
import { type Address, getAddress } from 'viem';
import { ChainRegistry } from '../platform/chain/chain-registry.js';
import { RedisUnavailableError } from '../protocol/errors.js';
import { caip2Of, v1NameOf } from '../protocol/payment/network.js';
import type { JsonObject } from '../protocol/payment/wire-values.js';
import { allSchemes } from '../protocol/schemes/registry.js';
import { LANE_QUERIES } from '../settlement/ledger/ledger.module.js';
import type { LaneQueries } from '../settlement/ledger/queries/lane-queries.js';
import type { LaneStatus } from '../settlement/model/lane-status.js';
import type { Versions } from './facilitator.service.js';

export interface SupportedKind {
  readonly x402Version: 1 | 2;
  readonly scheme: string;
  readonly network: string;
  readonly extra?: JsonObject;
}

/** The body of `GET /supported` (x402 V2 specification §7.3). */
export interface SupportedBody {
  readonly kinds: readonly SupportedKind[];
  readonly extensions: readonly string[];
  readonly signers: Readonly<Record<string, readonly string[]>>;
}

/** A signer that no worker has spoken for in this time is not one of ours any more. */
const SIGNER_KNOWN_MS = 24 * 3_600_000;

/**
 * What this deployment settles. A kind stays listed while its workers are away for a moment: sellers
 * read the list once, at their start.
 */
@Injectable()
export class SupportedService {
  #lanes: readonly LaneStatus[] = [];

  constructor(
    private readonly chains: ChainRegistry,
    @Inject(LANE_QUERIES) private readonly laneQueries: LaneQueries,
  ) {}

  async supported(versions: Versions): Promise<SupportedBody> {
    await this.#refresh();
    const chainIds = this.chains.all
      .filter(({ chainId }) => this.chains.served(chainId) !== undefined)
      .map(({ chainId }) => chainId)
      .filter((chainId) => this.#lanes.some((lane) => lane.chainId === chainId));
    return {
      kinds: [...versions]
        .sort((a, b) => b - a)
        .flatMap((version) => chainIds.flatMap((chainId) => this.#kindsOf(version, chainId))),
      extensions: [...new Set(allSchemes().flatMap(({ extensions }) => extensions))],
      signers: { 'eip155:*': signersOf(this.#lanes) },
    };
  }

  #kindsOf(x402Version: 1 | 2, chainId: number): readonly SupportedKind[] {
    const network = x402Version === 2 ? caip2Of(chainId) : v1NameOf(chainId);
    if (network === undefined) return [];
    const own = this.#lanes.filter((lane) => lane.chainId === chainId);
    return allSchemes()
      .filter(({ versions }) => versions.includes(x402Version))
      .map((scheme) => {
        const extra = scheme.kindExtra?.(signersOf(own));
        return { x402Version, scheme: scheme.name, network, ...(extra && { extra }) };
      });
  }

  /** While the ledger is away, what was known last is still the best answer. */
  async #refresh(): Promise<void> {
    try {
      const lanes = await this.laneQueries.all();
      this.#lanes = lanes.filter(({ silentMs }) => silentMs <= SIGNER_KNOWN_MS);
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
    }
  }
}

function signersOf(lanes: readonly LaneStatus[]): Address[] {
  return [...new Set(lanes.map(({ signer }) => getAddress(signer)))];
}
