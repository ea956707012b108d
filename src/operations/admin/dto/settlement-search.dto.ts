import {
  IsAtomicAmount,
  IsCaip2,
  IsEvmAddress,
  IsOneOf,
  IsText,
} from '../../../platform/http/validators.js';

const optional = true;
const WITH_SALE = 'Only with `sale`.';

export class SettlementSearchDto {
  @IsText(
    {
      maxLength: 100,
      message: 'must be one settlement id, transaction hash or payer',
    },
    {
      optional: true,
      description: 'A settlement’s id, a transaction hash, or the address of a payer.',
    },
  )
  readonly search: string = '';

  @IsOneOf(['unclaimed'], {
    optional: true,
    description: 'Instead of `search`: lists settlements that are paid and not delivered.',
  })
  readonly sale?: 'unclaimed';

  @IsEvmAddress({ optional, description: WITH_SALE })
  readonly payTo?: string;

  @IsEvmAddress({ optional, description: WITH_SALE })
  readonly payer?: string;

  @IsEvmAddress({ optional, description: WITH_SALE })
  readonly asset?: string;

  @IsCaip2({ optional, description: WITH_SALE })
  readonly network?: string;

  @IsAtomicAmount({
    optional,
    description: 'Only with `sale`: atomic units. Payments with a lower amount are not listed.',
  })
  readonly leastAmount?: string;

  @IsText(
    {
      pattern: /^[0-9]{1,15}\.[A-Za-z0-9_-]{43}$/,
      message: 'must be the nextCursor of an earlier page',
    },
    { optional, description: 'Only with `sale`: `nextCursor` of the previous page.' },
  )
  readonly cursor?: string;
}
