import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { flag, free, OPEN_ENDED, text } from '../../../platform/http/openapi.js';
import { ADDRESS_SCHEMA } from '../../../protocol/payment/wire-schemas.js';

export class WalletPasskeysState {
  @ApiProperty(flag)
  readonly isOn!: boolean;
}

export class WalletPasskeyOwner {
  @ApiProperty(ADDRESS_SCHEMA)
  readonly owner!: string;
}

@ApiSchema(OPEN_ENDED)
export class WalletPasskeyOptions {
  @ApiProperty(text)
  readonly challenge!: string;

  @ApiProperty(free)
  readonly rp!: object;
}
