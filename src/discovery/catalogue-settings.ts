import { Injectable } from '@nestjs/common';
import { AppConfig } from '../platform/config/app-config.js';
import { listingRulesOf } from '../platform/config/listing-rules.js';
import type { ListingRules } from '../protocol/listing/check-terms.js';

/** The catalogue's rules for entries, and how long they are kept. */
@Injectable()
export class CatalogueSettings implements ListingRules {
  readonly allow: ListingRules['allow'];
  readonly isKnownAsset: ListingRules['isKnownAsset'];
  /** An entry without a payment for this long is hidden, ms. */
  readonly expiryMs: number;
  /** Limit of entries of one payee on one chain. */
  readonly entriesPerPayee: number = 500;
  /** The public URL of the catalogue; without it no statements of payees are accepted. */
  readonly url: string | undefined;

  constructor(config: AppConfig) {
    const catalogue = config.history?.catalogue;
    const { allow, isKnownAsset } = listingRulesOf(config);
    this.allow = allow;
    this.isKnownAsset = isKnownAsset;
    this.expiryMs = catalogue?.expiryMs ?? 0;
    this.url = catalogue?.url;
  }
}
