import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { count, flag, free, moment, text } from '../../../platform/http/openapi.js';
import type { Listing, ListingNote, ListingType } from '../../../protocol/listing/listing.js';
import { ADDRESS_SCHEMA } from '../../../protocol/payment/wire-schemas.js';
import { type ListingCode, MEANINGS } from '../../codes.js';
import type { Quality } from '../../quality/quality.js';

const VERSION = { type: 'integer' as const, enum: [1, 2] };
const TEXTS = { type: 'array', items: text } as const;
const CODE = { ...text, enum: Object.keys(MEANINGS) };
const TYPE = { ...text, enum: ['http', 'mcp'] };

/** Texts of a seller. */
export class ListedWords {
  @ApiPropertyOptional(text)
  readonly description?: string;

  @ApiPropertyOptional(text)
  readonly mimeType?: string;

  @ApiPropertyOptional(text)
  readonly serviceName?: string;

  @ApiPropertyOptional(TEXTS)
  readonly tags?: readonly string[];

  @ApiPropertyOptional(text)
  readonly iconUrl?: string;
}

class DiscoveredQuality implements Quality {
  @ApiProperty({ ...count, description: 'Paid, of the newest 10 000.' })
  readonly l30DaysTotalCalls!: number;

  @ApiProperty(count)
  readonly l30DaysUniquePayers!: number;

  @ApiProperty({ ...count, description: 'Payers that bought on two days or more.' })
  readonly l30DaysRepeatPayers!: number;

  @ApiProperty({
    ...count,
    description: 'Paid by the payee or by whom it paid; in none of the other numbers.',
  })
  readonly l30DaysExcludedCalls!: number;

  @ApiPropertyOptional({ type: 'number', minimum: 0, maximum: 1 })
  readonly l30DaysSuccessRate?: number;

  @ApiPropertyOptional({ ...count, description: 'From the claim to the block.' })
  readonly l30DaysMedianSettleMs?: number;

  @ApiPropertyOptional(moment)
  readonly lastCalledAt?: string;

  @ApiProperty({ type: 'number', minimum: 0, description: 'What lists are ordered by.' })
  readonly score!: number;
}

/** An entry of the catalogue, in the protocol version of its seller. */
export class DiscoveredResource extends ListedWords {
  @ApiProperty(text)
  readonly resource!: string;

  @ApiPropertyOptional({
    ...text,
    description: 'A URL that `resource` stands for, where it is a template.',
  })
  readonly exampleUrl?: string;

  @ApiPropertyOptional({
    ...TEXTS,
    maxItems: 5,
    description: 'URLs of the template that were bought, the newest first.',
  })
  readonly exampleUrls?: readonly string[];

  @ApiProperty(TYPE)
  readonly type!: ListingType;

  @ApiPropertyOptional(text)
  readonly method?: string;

  @ApiPropertyOptional(text)
  readonly toolName?: string;

  @ApiProperty(VERSION)
  readonly x402Version!: 1 | 2;

  @ApiProperty({ type: 'array', items: free })
  readonly accepts!: readonly object[];

  @ApiProperty(free)
  readonly extensions!: object;

  @ApiProperty(free)
  readonly discoveryInfo!: object;

  @ApiProperty(text)
  readonly network!: string;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly payTo!: string;

  @ApiPropertyOptional(moment)
  readonly firstPaid?: string;

  @ApiProperty(moment)
  readonly lastUpdated!: string;

  @ApiPropertyOptional()
  readonly quality?: DiscoveredQuality;

  @ApiPropertyOptional({
    ...count,
    description:
      'Others that were paid for the same place: a payment does not show who sells there.',
  })
  readonly otherPayees?: number;
}

class DiscoveryPagination {
  @ApiProperty(count)
  readonly limit!: number;

  @ApiProperty(count)
  readonly offset!: number;

  @ApiProperty(count)
  readonly total!: number;

  @ApiPropertyOptional(text)
  readonly nextCursor?: string;
}

export class DiscoveryList {
  @ApiProperty(VERSION)
  readonly x402Version!: 1 | 2;

  @ApiProperty({ type: [DiscoveredResource] })
  readonly items!: readonly DiscoveredResource[];

  @ApiProperty()
  readonly pagination!: DiscoveryPagination;
}

export class DiscoveryMerchant {
  @ApiProperty(VERSION)
  readonly x402Version!: 1 | 2;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly payTo!: string;

  @ApiProperty({ type: [DiscoveredResource] })
  readonly resources!: readonly DiscoveredResource[];

  @ApiProperty()
  readonly pagination!: DiscoveryPagination;
}

class SearchPagination {
  @ApiProperty(count)
  readonly limit!: number;

  @ApiProperty({ ...text, nullable: true })
  readonly cursor!: string | null;
}

export class DiscoverySearch {
  @ApiProperty(VERSION)
  readonly x402Version!: 1 | 2;

  @ApiProperty({ type: [DiscoveredResource] })
  readonly resources!: readonly DiscoveredResource[];

  @ApiProperty(flag)
  readonly partialResults!: boolean;

  @ApiProperty({ ...text, enum: ['text', 'text+trigram'] })
  readonly searchMethod!: 'text' | 'text+trigram';

  @ApiProperty()
  readonly pagination!: SearchPagination;
}

class KnownListing {
  @ApiProperty(ADDRESS_SCHEMA)
  readonly payTo!: string;

  @ApiProperty(text)
  readonly network!: string;

  @ApiProperty(text)
  readonly resource!: string;

  @ApiPropertyOptional(text)
  readonly call?: string;

  @ApiProperty(flag)
  readonly listed!: boolean;

  @ApiProperty(CODE)
  readonly code!: ListingCode;

  @ApiProperty(text)
  readonly message!: string;

  @ApiPropertyOptional(text)
  readonly path?: string;

  @ApiProperty(moment)
  readonly at!: string;
}

export class DiscoveryStatus {
  @ApiProperty(text)
  readonly resource!: string;

  @ApiProperty(flag)
  readonly listed!: boolean;

  @ApiProperty(CODE)
  readonly code!: ListingCode;

  @ApiProperty(text)
  readonly message!: string;

  @ApiProperty({ type: [KnownListing] })
  readonly known!: readonly KnownListing[];
}

export class DiscoveryValidation {
  @ApiProperty(flag)
  readonly valid!: boolean;

  @ApiProperty(CODE)
  readonly code!: ListingCode;

  @ApiProperty(text)
  readonly message!: string;

  @ApiProperty(VERSION)
  readonly x402Version!: 1 | 2;

  @ApiPropertyOptional(text)
  readonly path?: string;

  @ApiPropertyOptional(text)
  readonly expected?: string;

  @ApiPropertyOptional(TEXTS)
  readonly notes?: readonly ListingNote[];

  @ApiPropertyOptional(free)
  readonly listing?: Omit<Listing, 'offer'>;
}

export class CatalogueStatementTaken {
  @ApiProperty({ ...text, enum: ['removed', 'corrected', 'restored'] })
  readonly code!: 'removed' | 'corrected' | 'restored';

  @ApiProperty(text)
  readonly message!: string;

  @ApiProperty(text)
  readonly network!: string;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly payTo!: string;

  @ApiProperty(TYPE)
  readonly type!: ListingType;

  @ApiProperty(text)
  readonly resource!: string;

  @ApiProperty(text)
  readonly call!: string;

  @ApiPropertyOptional()
  readonly words?: ListedWords;

  @ApiPropertyOptional(moment)
  readonly until?: string;
}
