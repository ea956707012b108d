import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { count, moment, text } from '../../platform/http/openapi.js';

const DIGEST = { ...text, pattern: '^[0-9a-f]{64}$' };

/** A takedown, or a restoration, as operators see it. */
@ApiSchema({ name: 'HubTakedown' })
export class TakedownView {
  @ApiProperty(DIGEST)
  readonly sha256!: string;

  @ApiProperty({
    ...text,
    description: 'Owner of the file; empty if the request named only `sha256`.',
  })
  readonly owner!: string;

  @ApiProperty(text)
  readonly name!: string;

  @ApiProperty(text)
  readonly reason!: string;

  @ApiProperty({ ...text, description: 'Id of an API key.' })
  readonly by!: string;

  @ApiProperty(moment)
  readonly at!: string;
}

class HubAct extends TakedownView {
  @ApiProperty({ ...text, enum: ['taken_down', 'restored'] })
  readonly action!: 'taken_down' | 'restored';
}

export class HubTakedowns {
  @ApiProperty({ type: [TakedownView] })
  readonly takedowns!: readonly TakedownView[];

  @ApiProperty({ ...count, description: 'Number of contents that are taken down.' })
  readonly count!: number;
}

export class HubActs {
  @ApiProperty({ type: [HubAct] })
  readonly acts!: readonly HubAct[];
}

export class HubTakenDown {
  @ApiProperty({ ...text, enum: ['taken_down', 'unchanged'] })
  readonly outcome!: 'taken_down' | 'unchanged';

  @ApiProperty({ type: [TakedownView] })
  readonly takedowns!: readonly TakedownView[];
}

export class HubRestored {
  @ApiProperty({ ...text, enum: ['restored', 'unchanged'] })
  readonly outcome!: 'restored' | 'unchanged';

  @ApiProperty(DIGEST)
  readonly sha256!: string;
}
