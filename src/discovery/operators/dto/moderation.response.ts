import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { count, moment, text } from '../../../platform/http/openapi.js';
import type { Denial, DenialName } from '../moderation-store.js';

const KIND = { ...text, enum: ['payee', 'host'] };
const VALUE = { ...text, description: 'An address or a host, in lower case.' };

class CatalogueDenial implements Denial {
  @ApiProperty(KIND)
  readonly kind!: DenialName['kind'];

  @ApiProperty(VALUE)
  readonly value!: string;

  @ApiProperty({ ...text, description: 'The reason that the operator gave.' })
  readonly reason!: string;

  @ApiProperty(moment)
  readonly at!: Date;

  @ApiProperty({
    ...text,
    description: 'Id of an API key; empty for a denial that was written to the database by hand.',
  })
  readonly by!: string;
}

export class CatalogueDenials {
  @ApiProperty({ type: [CatalogueDenial] })
  readonly denials!: readonly CatalogueDenial[];

  @ApiPropertyOptional(text)
  readonly next?: string;
}

/** An entry as operators see it, whether or not it is listed. */
export class CatalogueEntry {
  @ApiProperty(text)
  readonly id!: string;

  @ApiProperty(text)
  readonly network!: string;

  @ApiProperty(text)
  readonly payTo!: string;

  @ApiProperty(text)
  readonly host!: string;

  @ApiProperty(text)
  readonly resource!: string;

  @ApiProperty({ ...text, description: 'HTTP method, or name of the tool; empty if not declared.' })
  readonly call!: string;

  @ApiProperty({ ...text, enum: ['http', 'mcp'] })
  readonly type!: 'http' | 'mcp';

  @ApiProperty({
    ...count,
    description: 'Number of other payees that were paid for the same resource.',
  })
  readonly otherPayees!: number;

  @ApiProperty({
    ...text,
    enum: ['listed', 'expired', 'denied'],
    description: '`expired`: no payment in `CATALOGUE_DAYS`.',
  })
  readonly state!: 'listed' | 'expired' | 'denied';

  @ApiProperty(moment)
  readonly firstPaidAt!: Date;

  @ApiProperty(moment)
  readonly lastPaidAt!: Date;

  @ApiProperty({ type: [CatalogueDenial] })
  readonly denials!: readonly CatalogueDenial[];

  @ApiPropertyOptional(text)
  readonly serviceName?: string | undefined;

  @ApiPropertyOptional(text)
  readonly description?: string | undefined;
}

export class CatalogueEntries {
  @ApiProperty({ type: [CatalogueEntry] })
  readonly entries!: readonly CatalogueEntry[];

  @ApiPropertyOptional(text)
  readonly next?: string;
}

export class CatalogueDenied {
  @ApiProperty({ ...text, enum: ['denied', 'unchanged'] })
  readonly outcome!: 'denied' | 'unchanged';

  @ApiProperty()
  readonly denial!: CatalogueDenial;
}

export class CatalogueAllowed {
  @ApiProperty({
    ...text,
    enum: ['allowed', 'unchanged'],
    description: '`unchanged`: it was not denied.',
  })
  readonly outcome!: 'allowed' | 'unchanged';

  @ApiProperty(KIND)
  readonly kind!: DenialName['kind'];

  @ApiProperty(VALUE)
  readonly value!: string;
}
