import { Injectable } from '@nestjs/common';
import { AppConfig } from '../platform/config/app-config.js';
import { listingRulesOf } from '../platform/config/listing-rules.js';
import type { ListingRules } from '../protocol/listing/check-terms.js';

/** What this deployment lists, and for how long. */
@Injectable()
export class CatalogueSettings implements ListingRules {
  readonly allow: ListingRules['allow'];
  readonly isKnownAsset: ListingRules['isKnownAsset'];
  /** After this time without a payment an entry is not shown any more, ms. */
  readonly expiryMs: number;
  /** Entries of one payee on one chain. */
  readonly entriesPerPayee: number = 500;
  /** As others reach the catalogue; without it no statements of payees are taken. */
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
