import { IgnoresUnknown } from '../../../platform/http/request.pipe.js';
import {
  IsCaip2,
  IsDayOrTime,
  IsEvmAddress,
  IsOneOf,
  IsQueryInteger,
  IsText,
  IsTransactionHash,
} from '../../../platform/http/validators.js';
import { NONCE_SCHEMA } from '../../../protocol/payment/wire-schemas.js';
import {
  PAGE,
  PAGE_MAX,
  type SaleFilter,
  SALES,
} from '../../../settlement/ledger/queries/settlement-listing.js';
import { SETTLEMENT_STATES, type SettlementState } from '../../../settlement/model/settlement.js';
import { WAIT_SECONDS_MAX } from '../settlement-waits.js';

export const SEARCH_USAGE =
  'Give transaction, or paymentId, or network with asset, payer and nonce. A list needs an API key with the scope history.';

const optional = true;

/**
 * `GET /v2/settlements?…`: by transaction, by authorization, or by the buyer's payment identifier. Otherwise it is a
 * list.
 */
export class SettlementQueryDto {
  @IsTransactionHash({ optional })
  readonly transaction?: string;

  @IsCaip2({ optional })
  readonly network?: string;

  @IsEvmAddress({
    optional,
    description: 'The address of the token, also if another contract keeps the nonce.',
  })
  readonly asset?: string;

  @IsEvmAddress({ optional })
  readonly payer?: string;

  @IsText(
    { pattern: /^(?:[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/, message: 'must be a number' },
    { optional, description: 'Nonce of the authorization: decimal, or hexadecimal with 0x.' },
    NONCE_SCHEMA,
  )
  readonly nonce?: string;

  @IsText(
    { pattern: /^[a-zA-Z0-9_-]{16,128}$/, message: 'must be a payment identifier' },
    {
      optional,
      description:
        'The identifier of the buyer for its payment, from the extension `payment-identifier`.',
    },
  )
  readonly paymentId?: string;

  @IsEvmAddress({
    optional,
    description: 'Required with `payer` for a `paymentId` without an API key.',
  })
  readonly payTo?: string;

  @IsDayOrTime({
    optional,
    description: 'Only settlements claimed at or after this day (UTC) or time with its zone.',
  })
  readonly from?: string;

  @IsDayOrTime({ optional, description: 'Only settlements claimed before this day or time.' })
  readonly to?: string;

  @IsOneOf(SETTLEMENT_STATES, { optional })
  readonly state?: SettlementState;

  @IsOneOf(SALES, {
    optional,
    description: '`unclaimed`: paid and not delivered, because no settle request received success.',
  })
  readonly sale?: SaleFilter;

  @IsQueryInteger({ minimum: 1, maximum: PAGE_MAX, default: PAGE })
  readonly limit?: number;

  @IsText({}, { optional, description: '`nextCursor` of the previous page.' })
  readonly cursor?: string;
}

/** `GET /v2/settlements/:id?wait=20` */
@IgnoresUnknown()
export class SettlementWaitDto {
  @IsQueryInteger(
    {
      minimum: 0,
      maximum: WAIT_SECONDS_MAX,
      default: 0,
      message: `must be a number of seconds, 0 to ${WAIT_SECONDS_MAX}`,
    },
    { description: 'Seconds.' },
  )
  readonly wait: number = 0;
}
