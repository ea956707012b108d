import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { count, flag, free, moment, text } from '../../../platform/http/openapi.js';
import type { Row } from '../../api/lists.js';
import { BUCKET_KINDS } from '../../names.js';

/** Answers of `/v1`. */

class BucketName {
  @ApiProperty(text)
  readonly bucket!: string;

  @ApiProperty(text)
  readonly owner!: string;
}

class BucketView extends BucketName {
  @ApiProperty({ ...text, enum: BUCKET_KINDS })
  readonly kind!: string;
}

export class HubBucket extends BucketView {
  @ApiProperty(moment)
  readonly createdAt!: string;
}

export class HubBucketCreated extends BucketView {
  @ApiProperty(flag)
  readonly created!: boolean;
}

export class HubBucketRemoved extends BucketName {
  @ApiProperty(flag)
  readonly deleted!: boolean;
}

/** A page of a list. */
class HubPage {
  @ApiProperty({ ...text, description: '`cursor` of the next page; empty at the end.' })
  readonly nextCursor!: string;

  @ApiPropertyOptional({ ...count, description: 'Of all rows, with `withTotal=1`.' })
  readonly total?: number;
}

@ApiSchema({ name: 'HubBuckets' })
export class BucketsPage extends HubPage {
  @ApiProperty({
    type: 'array',
    items: free,
    description: 'Buckets with the fields of the original hub.',
  })
  readonly buckets!: readonly Row[];
}

/** A file, as clients of `/v1` read it. */
@ApiSchema({ name: 'HubReceipt' })
export class Receipt extends BucketName {
  @ApiProperty(text)
  readonly key!: string;

  @ApiProperty({ ...count, description: 'Bytes.' })
  readonly size!: number;

  @ApiProperty({ ...text, pattern: '^[0-9a-f]{64}$' })
  readonly sha256!: string;

  /** The original says `committed` once a file is on a chain. This hub submits nothing to a chain. */
  @ApiProperty({
    ...text,
    const: 'staged',
    description: 'It is durable, and on no chain.',
  } as object)
  readonly status!: 'staged';

  @ApiProperty({ ...text, const: 'pending' } as object)
  readonly availability!: 'pending';

  @ApiProperty(moment)
  readonly createdAt!: string;
}

export class HubReceipts {
  @ApiProperty({ type: [Receipt] })
  readonly objects!: readonly Receipt[];
}

export class HubObjects extends HubPage {
  @ApiProperty({ type: [Receipt] })
  readonly objects!: readonly Receipt[];
}

export class HubOwner {
  @ApiProperty(text)
  readonly owner!: string;

  @ApiProperty(free)
  readonly account!: Row;
}

export class HubOverview {
  @ApiProperty({ ...count, description: 'Owners that have ever stored something.' })
  readonly totalAddresses!: number;

  @ApiProperty({ ...count, description: 'Owners that have any file now.' })
  readonly walletsWithMemory!: number;

  @ApiProperty({ ...count, description: 'Files.' })
  readonly memoryCount!: number;

  @ApiProperty({ ...count, description: 'Stored and not freed.' })
  readonly memoryBytes!: number;

  @ApiProperty({ type: 'number', minimum: 0 })
  readonly memoryGB!: number;

  @ApiProperty({ ...count, description: 'Unix seconds.' })
  readonly computedAt!: number;
}
