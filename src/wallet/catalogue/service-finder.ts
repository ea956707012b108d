import { type Address, parseUnits } from 'viem';
import type { z } from 'zod';
import { standsFor } from '../../protocol/listing/resource-url.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import type { KnownContracts } from '../rules/decode-typed-data.js';
import type {
  ServiceDetailsInput,
  ServiceDetailsOutput,
  ServiceSearchInput,
  ServiceSearchOutput,
} from '../tools/service-shapes.js';
import { WalletError } from '../wallet-error.js';
import type { CatalogueClient } from './catalogue-client.js';
import { type CatalogueItem, readItem, type ServiceView } from './catalogue-item.js';
import { declaredJson } from './declared.js';
import { howToBuy } from './how-to-buy.js';

/** Of what one payee sells, when one entry of it is looked for. */
const PAGE = 20;
const PAGES_MAX = 50;

type Details = z.infer<typeof ServiceDetailsOutput>;

interface Found {
  readonly item: CatalogueItem;
  /** The URL that was asked for, where the entry is of a template that stands for it. */
  readonly ofTemplate: string | undefined;
}

/** Finds what can be bought, in the catalogue the operator has named. It pays nothing and asks no seller. */
export class ServiceFinder {
  /** @param timeoutMs - of one question, however many pages it takes. */
  constructor(
    private readonly catalogue: CatalogueClient,
    private readonly known: KnownContracts,
    private readonly timeoutMs: number,
  ) {}

  /** @throws WalletError */
  async search(
    asked: z.infer<typeof ServiceSearchInput>,
  ): Promise<z.infer<typeof ServiceSearchOutput>> {
    const words = asked.query.replace(/[\p{C}\s]+/gu, ' ').trim();
    const { type, network, asset, cursor } = asked;
    const maxPrice = this.#atomicPrice(asked);
    const filter = { type, network, asset, maxPrice, cursor, limit: String(asked.limit) };
    const page =
      words === ''
        ? await this.catalogue.list(filter)
        : await this.catalogue.search({ query: words, ...filter });
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
      // Who asks for one URL of a template buys that one, and not the seller's example.
      ...howToBuy(
        ofTemplate === undefined
          ? item
          : { ...item, view: { ...view, resource: ofTemplate }, exampleUrl: undefined },
      ),
    };
  }

  /** The catalogue is asked for the payee, of whom it lists some hundreds at most. */
  async #find(asked: z.infer<typeof ServiceDetailsInput>): Promise<Found> {
    const { payTo, network } = asked;
    const url = withoutQuery(asked.resource);
    let ofTemplate: Found | undefined;
    const signal = AbortSignal.timeout(this.timeoutMs);
    let cursor: string | undefined;
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const page = await this.catalogue.list({ payTo, network, cursor, limit: `${PAGE}` }, signal);
      const items = page.items.flatMap((sent) => readItem(sent, this.known) ?? []);
      const candidates = items.filter(({ view }) => isOf(view, asked));
      const named = candidates.find(({ view }) => view.resource === asked.resource);
      if (named !== undefined) return { item: named, ofTemplate: undefined };
      // A later page may have an entry of that very URL.
      const item = candidates.find((one) => isTemplateOf(one, url));
      if (item !== undefined) ofTemplate ??= { item, ofTemplate: url };
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    if (ofTemplate !== undefined) return ofTemplate;
    throw new WalletError('not_found', 'The catalogue lists no such service of this payee.');
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
    if (token !== undefined) return parseUnits(maxPrice, token.decimals).toString();
    throw new WalletError(
      'invalid_request',
      '"maxPrice" needs "asset" and "network" of a token of this wallet: see wallet_balance.',
    );
  }
}

/** Also of a catalogue that does not know the filters, and lists everything. */
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

/** Only an entry with an example is one of a template. */
function isTemplateOf({ view, exampleUrl }: CatalogueItem, url: string): boolean {
  return exampleUrl !== undefined && standsFor(view.resource, url);
}

/** A URL as entries have it; any other text stays as it is. */
function withoutQuery(text: string): string {
  try {
    const { origin, pathname } = new URL(text);
    return origin + pathname;
  } catch {
    return text;
  }
}
