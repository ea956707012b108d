import { Inject, Injectable, Optional } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import type { ListingRules } from '../../protocol/listing/check-terms.js';
import type { Listing } from '../../protocol/listing/listing.js';
import { BAZAAR, readDeclaration } from '../../protocol/listing/read-declaration.js';
import { hashOf } from '../../protocol/payment/hash.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { DeclarationNotes } from '../../settlement/ledger/declaration-notes.js';
import { DECLARATION_NOTES } from '../../settlement/ledger/ledger.module.js';
import type { ClaimRef } from '../../settlement/ledger/settlement-store.js';
import type {
  CarriedExtension,
  ExtendedOutcome,
  ExtendedRequest,
  SettleExtension,
} from '../../settlement/settle-extension.js';
import { CatalogueSettings } from '../catalogue-settings.js';
import { type ListingCode, MEANINGS } from '../codes.js';
import type { Declared } from '../declared.js';
import { callOf, placeNamed } from '../postgres/entry-rows.js';
import { KnownRefusals } from './known-refusals.js';

/**
 * Reads the declaration of a settle request and queues it before the payment is claimed, so that a crash after the
 * claim loses nothing. A request that joins another's claim queues nothing: after a broadcast anyone can present the
 * payment, and could write under its payee's name.
 */
@Injectable()
export class DeclaredListings implements SettleExtension {
  /** @param refusals - entries that no payment lists; missing without a catalogue. */
  constructor(
    @Inject(CatalogueSettings) private readonly rules: ListingRules,
    @Inject(DECLARATION_NOTES) private readonly notes: Pick<DeclarationNotes, 'note'>,
    @Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'warn'>,
    @Optional()
    @Inject(KnownRefusals)
    private readonly refusals?: Pick<KnownRefusals, 'prepare' | 'of'>,
  ) {}

  carriedBy(request: ExtendedRequest): CarriedExtension | undefined {
    try {
      const declared = this.#read(request);
      if (declared === undefined) return undefined;
      // Read by the time the payment is settled.
      if ('listing' in declared) this.refusals?.prepare();
      return new CarriedListing(declared, request.payment, {
        notes: this.notes,
        refusals: this.refusals,
        onError: (error) => {
          this.#warn(error);
        },
      });
    } catch (error) {
      // A faulty declaration must not keep a payment from being settled.
      this.#warn(error);
      return undefined;
    }
  }

  #warn(error: unknown): void {
    this.logger.warn(
      { err: error },
      'a resource declared in a payment was not queued for the catalogue',
    );
  }

  #read({ paymentPayload, paymentRequirements, payment }: ExtendedRequest): Declared | undefined {
    const read = readDeclaration(paymentPayload, paymentRequirements, this.rules.allow);
    if (read.kind === 'none') return undefined;
    if (read.kind === 'fault') {
      const { fault, resource } = read;
      const { code, path } = fault;
      return { code, path, ...(resource !== undefined && { resource }) };
    }
    const { network, asset } = payment.requirements;
    const { listing } = read;
    return this.rules.isKnownAsset(`${network}/${asset}`)
      ? { listing }
      : {
          code: 'asset_not_known',
          path: 'paymentRequirements.asset',
          ...placeNamed(listing),
        };
  }
}

interface CarriedTo {
  readonly notes: Pick<DeclarationNotes, 'note'>;
  readonly refusals: Pick<KnownRefusals, 'of'> | undefined;
  readonly onError: (error: unknown) => void;
}

class CarriedListing implements CarriedExtension {
  #claimed: string | undefined;
  /** Whether the declaration was queued; `undefined` while that is in progress. */
  #hasRoom: boolean | undefined;

  constructor(
    private readonly declared: Declared,
    private readonly payment: Payment,
    private readonly catalogue: CarriedTo,
  ) {}

  beforeClaim(ref: ClaimRef): void {
    const { notes, refusals, onError } = this.catalogue;
    if (refusals === undefined) return;
    this.#claimed = ref.id;
    const content = JSON.stringify(this.declared);
    notes.note(ref, { tag: hashOf(['declared', content]), content }).then(
      (hasRoom) => {
        this.#hasRoom = hasRoom;
      },
      (error: unknown) => {
        this.#hasRoom = false;
        onError(error);
      },
    );
  }

  responseTo(outcome: ExtendedOutcome): string {
    const path = 'code' in this.declared ? this.declared.path : undefined;
    return extensionResponses(this.#codeOf(outcome), path);
  }

  #codeOf({ result, settlementId }: ExtendedOutcome): ListingCode {
    if (this.catalogue.refusals === undefined) return 'catalogue_off';
    // A malformed declaration stays malformed, whatever the outcome of the payment.
    if ('code' in this.declared) return this.declared.code;
    if (result === 'failure') return 'not_settled';
    if (this.#claimed === undefined || this.#claimed !== settlementId)
      return 'first_request_counts';
    if (this.#hasRoom === false) return 'catalogue_busy';
    return this.#refusal(this.declared) ?? 'awaiting_outcome';
  }

  #refusal({ listing }: { readonly listing: Listing }): 'removed' | 'denied' | undefined {
    const { network, payTo } = this.payment.requirements;
    const { type, resource } = listing;
    const chainId = chainIdOf(network);
    return chainId === undefined
      ? undefined
      : this.catalogue.refusals?.of({ chainId, payTo, type, resource, call: callOf(listing) });
  }
}

/** Codes that a later answer may change. */
const OPEN: ReadonlySet<ListingCode> = new Set(['awaiting_outcome', 'first_request_counts']);

/**
 * The value of `EXTENSION-RESPONSES`: JSON in base64. Every status except `processing` is final for the declaration of
 * this request.
 *
 * @param path - the path of the malformed field.
 */
function extensionResponses(code: ListingCode, path: string | undefined): string {
  const response = OPEN.has(code)
    ? { status: 'processing', code, status_url: '/discovery/status' }
    : {
        status: 'rejected',
        code,
        ...(path !== undefined && { path }),
        rejectedReason: `${code}: ${MEANINGS[code]}`,
      };
  return Buffer.from(JSON.stringify({ [BAZAAR]: response })).toString('base64');
}
