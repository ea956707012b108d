import { IsOneOf, IsText } from '../../../platform/http/validators.js';

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
    description: 'In place of `search`: settlements that are paid and not delivered.',
  })
  readonly sale?: 'unclaimed';
}
