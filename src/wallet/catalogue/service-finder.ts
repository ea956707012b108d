import { Inject, Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import type { z } from 'zod';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { placeOf } from '../../protocol/diagnosis/place.js';
import { standsFor } from '../../protocol/listing/resource-url.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import type { KnownContracts } from '../rules/decode-typed-data.js';
import { unitsAtMost } from '../rules/units-at-most.js';
import type {
  ServiceDetailsInput,
  ServiceDetailsOutput,
  ServiceSearchInput,
  ServiceSearchOutput,
} from '../tools/service-shapes.js';
import { WalletError } from '../wallet-error.js';
import { KNOWN_CONTRACTS, WALLET_SETTINGS } from '../wallet-tokens.js';
import { CatalogueClient } from './catalogue-client.js';
import { type CatalogueItem, readItem, type ServiceView } from './catalogue-item.js';
import { declaredJson } from './declared.js';
import { howToBuy } from './how-to-buy.js';

/** Entries per page, in a search for one entry of a payee. */
const PAGE = 20;
const PAGES_MAX = 50;

type Details = z.infer<typeof ServiceDetailsOutput>;

interface Found {
  readonly item: CatalogueItem;
  /** The requested URL, if the entry is a template for it. */
  readonly ofTemplate: string | undefined;
}

/** Searches the operator's catalogue for services. It pays nothing and calls no seller. */
@Injectable()
export class ServiceFinder {
  readonly #catalogue: CatalogueClient | undefined;
  /** Of one search, however many pages it takes. */
  readonly #timeoutMs: number;

  constructor(
    @Inject(WALLET_SETTINGS)
    { catalogueUrl, fetchTimeoutMs }: Pick<WalletConfig, 'catalogueUrl' | 'fetchTimeoutMs'>,
    @Inject(KNOWN_CONTRACTS) private readonly known: KnownContracts,
  ) {
    this.#timeoutMs = fetchTimeoutMs;
    this.#catalogue =
      catalogueUrl === undefined ? undefined : new CatalogueClient(catalogueUrl, fetchTimeoutMs);
  }

  /** Whether the operator has named a catalogue. */
  get isOn(): boolean {
    return this.#catalogue !== undefined;
  }

  /** @throws WalletError */
  async search(
    asked: z.infer<typeof ServiceSearchInput>,
  ): Promise<z.infer<typeof ServiceSearchOutput>> {
    const catalogue = this.#named();
    const words = asked.query.replace(/[\p{C}\s]+/gu, ' ').trim();
    const { type, network, asset, cursor } = asked;
    const maxPrice = this.#atomicPrice(asked);
    const filter = { type, network, asset, maxPrice, cursor, limit: String(asked.limit) };
    const page =
      words === ''
        ? await catalogue.list(filter)
        : await catalogue.search({ query: words, ...filter });
    return {
      services: page.items.flatMap((sent) => readItem(sent, this.known)?.view ?? []),
      ...(page.cursor !== undefined && { cursor: page.cursor }),
    };
  }

  /** @throws WalletError */
  async details(asked: z.infer<typeof ServiceDetailsInput>): Promise<Details> {
    const { item, ofTemplate } = await this.#find(asked);
    const { view, info, schema, exampleUrl } = item;
    const declared = { input: info['input'], output: info['output'], schema };
    const shown: Partial<Record<keyof typeof declared, Record<string, unknown>>> = {};
    const leftOut: Details['declaredBySeller']['leftOut'] = [];
    for (const part of ['input', 'output', 'schema'] as const) {
      if (declared[part] === undefined) continue;
      const plain = declaredJson(declared[part]);
      if (plain === undefined) leftOut.push(part);
      else shown[part] = { ...plain };
    }
    return {
      ...view,
      declaredBySeller: {
        ...view.declaredBySeller,
        ...(exampleUrl !== undefined && { exampleUrl }),
        ...shown,
        leftOut,
      },
      // A caller that names one URL of a template buys that URL, and not the seller's example.
      ...howToBuy(
        ofTemplate === undefined
          ? item
          : { ...item, view: { ...view, resource: ofTemplate }, exampleUrl: undefined },
      ),
    };
  }

  /** The catalogue is searched by payee, and lists some hundreds of entries at most. */
  async #find(asked: z.infer<typeof ServiceDetailsInput>): Promise<Found> {
    const catalogue = this.#named();
    const { payTo, network } = asked;
    const url = withoutQuery(asked.resource);
    let ofTemplate: Found | undefined;
    const signal = AbortSignal.timeout(this.#timeoutMs);
    let cursor: string | undefined;
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const page = await catalogue.list({ payTo, network, cursor, limit: `${PAGE}` }, signal);
      const items = page.items.flatMap((sent) => readItem(sent, this.known) ?? []);
      const candidates = items.filter(({ view }) => isOf(view, asked));
      const named = candidates.find(({ view }) => view.resource === asked.resource);
      if (named !== undefined) return { item: named, ofTemplate: undefined };
      // A later page may have an entry with exactly this URL.
      const item = candidates.find((one) => isTemplateOf(one, url));
      if (item !== undefined) ofTemplate ??= { item, ofTemplate: url };
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    if (ofTemplate !== undefined) return ofTemplate;
    throw new WalletError('not_found', 'The catalogue does not list this service of this payee.');
  }

  /** @throws WalletError `not_found` */
  #named(): CatalogueClient {
    if (this.#catalogue !== undefined) return this.#catalogue;
    throw new WalletError(
      'not_found',
      'This wallet has no catalogue to search. Its operator can set WALLET_CATALOGUE_URL.',
    );
  }

  /** @throws WalletError `invalid_request` */
  #atomicPrice({
    maxPrice,
    asset,
    network,
  }: z.infer<typeof ServiceSearchInput>): string | undefined {
    if (maxPrice === undefined) return undefined;
    const chainId = network === undefined ? undefined : chainIdOf(network);
    const token =
      chainId !== undefined && asset !== undefined
        ? this.known.token(chainId, asset.toLowerCase() as Address)
        : undefined;
    if (token !== undefined) return unitsAtMost(maxPrice, token.decimals).toString();
    throw new WalletError(
      'invalid_request',
      '"maxPrice" needs "asset" and "network" of a token of this wallet: see wallet_balance.',
      { place: placeOf('asset', 'a token of this wallet', asset) },
    );
  }
}

/** Also correct for a catalogue that ignores the filters and lists everything. */
function isOf(
  view: ServiceView,
  { payTo, network, call }: z.infer<typeof ServiceDetailsInput>,
): boolean {
  return (
    view.payTo.toLowerCase() === payTo.toLowerCase() &&
    (network === undefined || view.network === network) &&
    (call === undefined || view.call === call)
  );
}

/** Only an entry with an example is a template. */
function isTemplateOf({ view, exampleUrl }: CatalogueItem, url: string): boolean {
  return exampleUrl !== undefined && standsFor(view.resource, url);
}

/** A URL as in entries; any other text is unchanged. */
function withoutQuery(text: string): string {
  try {
    const { origin, pathname } = new URL(text);
    return origin + pathname;
  } catch {
    return text;
  }
}
