import { Inject, Injectable } from '@nestjs/common';
import { type Address, getAddress } from 'viem';
import { ChainRegistry } from '../platform/chain/chain-registry.js';
import { AppConfig } from '../platform/config/app-config.js';
import { approvalLimitsOf } from '../platform/config/network-settings.js';
import { RedisUnavailableError } from '../protocol/errors.js';
import type { ContractName } from '../protocol/evm/contracts.js';
import { BAZAAR } from '../protocol/listing/read-declaration.js';
import { type ReadAccepts, readAccepts, type ServedKind } from '../protocol/payment/accepts.js';
import { BUILDER_CODE } from '../protocol/payment/builder-code.js';
import { caip2Of, v1NameOf } from '../protocol/payment/network.js';
import { PAYMENT_IDENTIFIER } from '../protocol/payment/payment-identifier.js';
import { allSchemes } from '../protocol/schemes/registry.js';
import {
  LANE_SILENT_MS,
  LaneQueries,
  type PublishedStatus,
} from '../settlement/ledger/queries/lane-queries.js';
import type { LaneStatus } from '../settlement/model/lane-status.js';
import type { SupportedBody } from './dto/supported.response.js';
import type { Versions } from './facilitator.service.js';

/** A signer that no worker has reported for this long counts as removed. */
const SIGNER_KNOWN_MS = 24 * 3_600_000;

/**
 * The kinds of payments that this deployment settles. A kind stays listed while its workers are
 * away for a moment: sellers read the list once, at their start.
 */
@Injectable()
export class SupportedService {
  #lanes: readonly PublishedStatus[] = [];

  constructor(
    private readonly chains: ChainRegistry,
    private readonly laneQueries: LaneQueries,
    @Inject(AppConfig)
    private readonly config: Pick<AppConfig, 'networks' | 'builderCode' | 'history'>,
  ) {}

  async supported(versions: Versions): Promise<SupportedBody> {
    await this.#refresh();
    const chainIds = this.chains.all
      .filter(({ chainId }) => this.chains.served(chainId) !== undefined)
      .map(({ chainId }) => chainId)
      .filter((chainId) => this.#offered.some((lane) => lane.chainId === chainId));
    return {
      kinds: [...versions]
        .sort((a, b) => b - a)
        .flatMap((version) => chainIds.flatMap((chainId) => this.#kindsOf(version, chainId))),
      extensions: [
        ...this.#extensionsOn(chainIds),
        // Payloads of V1 have no extensions.
        ...(versions.includes(2) && this.config.history?.catalogue ? [BAZAAR] : []),
        ...(versions.includes(2) ? [PAYMENT_IDENTIFIER, ...this.#ownExtensions] : []),
      ],
      signers: { 'eip155:*': signersOf(this.#offered) },
    };
  }

  /** The offers of a seller that this deployment can settle. */
  async accepts(body: unknown, versions: Versions): Promise<ReadAccepts> {
    const { kinds } = await this.supported(versions);
    return readAccepts(body, versions, kinds);
  }

  /** The extensions of this service, which the operator turns on. */
  get #ownExtensions(): readonly string[] {
    return this.config.builderCode === undefined ? [] : [BUILDER_CODE];
  }

  /** The list is one for all chains, so it holds an extension if one chain supports it. */
  #extensionsOn(chainIds: readonly number[]): readonly string[] {
    const paysOn = approvalLimitsOf(this.config);
    const pays = chainIds.some((chainId) => paysOn.has(chainId));
    const extensions = allSchemes().flatMap(({ extensions: free, sponsoredExtensions = [] }) =>
      pays ? [...free, ...sponsoredExtensions] : free,
    );
    return [...new Set(extensions)];
  }

  #kindsOf(x402Version: 1 | 2, chainId: number): readonly ServedKind[] {
    const network = x402Version === 2 ? caip2Of(chainId) : v1NameOf(chainId);
    if (network === undefined) return [];
    const signers = this.#namedOn(chainId);
    return allSchemes()
      .filter(({ versions }) => versions.includes(x402Version))
      .filter(({ contracts }) => contracts.every((name) => this.#mayHave(chainId, name)))
      .flatMap((served) => {
        const kind = { x402Version, scheme: served.name, network };
        if (served.kindExtra === undefined) return [kind];
        const extra = served.kindExtra(signers);
        return extra === undefined ? [] : [{ ...kind, extra }];
      });
  }

  /** Accounts that a payment may be bound to. */
  #namedOn(chainId: number): readonly Address[] {
    return signersOf(bestFirst(this.#offered.filter((lane) => lane.chainId === chainId)));
  }

  /** Lanes that are being removed are no longer listed; payments that name them are still settled. */
  get #offered(): readonly PublishedStatus[] {
    return this.#lanes.filter(({ isRetiring }) => isRetiring !== true);
  }

  /** Only proof removes a scheme. */
  #mayHave(chainId: number, contract: ContractName): boolean {
    return this.chains.get(chainId)?.hasContract(contract) !== false;
  }

  /** During an outage of the ledger, the last known state is still the best answer. */
  async #refresh(): Promise<void> {
    try {
      const lanes = await this.laneQueries.all();
      this.#lanes = lanes.filter(({ silentMs }) => silentMs <= SIGNER_KNOWN_MS);
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
    }
  }
}

/**
 * Healthy lanes that can send come first, then lanes with a condition, then silent ones. Sellers keep the list until
 * they restart, so lanes of equal rank are shuffled for each request: that spreads their work.
 */
function bestFirst(lanes: readonly PublishedStatus[]): readonly PublishedStatus[] {
  const rank = ({ silentMs, trouble }: PublishedStatus): number => {
    if (silentMs > LANE_SILENT_MS) return 2;
    return trouble === undefined ? 0 : 1;
  };
  const start = Math.floor(Math.random() * lanes.length);
  const turned = [...lanes.slice(start), ...lanes.slice(0, start)];
  return turned.sort((a, b) => rank(a) - rank(b));
}

function signersOf(lanes: readonly LaneStatus[]): Address[] {
  return [...new Set(lanes.map(({ signer }) => getAddress(signer)))];
}
