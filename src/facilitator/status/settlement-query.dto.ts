import { IsEthereumAddress, IsOptional, IsString, Matches } from 'class-validator';

/**
 * `GET /v2/settlements?…`: by transaction, by authorization, or by the buyer's name of a payment. Else it is a
 * list, whose further parameters the history reads.
 */
export class SettlementQueryDto {
  @IsOptional()
  @Matches(/^0x[0-9a-fA-F]{64}$/, { message: 'transaction must be a transaction hash' })
  transaction?: string;

  @IsOptional()
  @Matches(/^eip155:[1-9]\d{0,15}$/, { message: 'network must be a CAIP-2 name of an EVM chain' })
  network?: string;

  /** The token, whatever contract keeps the nonce; any letter case. */
  @IsOptional()
  @IsEthereumAddress()
  asset?: string;

  @IsOptional()
  @IsEthereumAddress()
  payer?: string;

  /** Of the authorization: decimal, or hex with 0x. */
  @IsOptional()
  @Matches(/^(?:\d{1,78}|0x[0-9a-fA-F]{1,64})$/, { message: 'nonce must be a number' })
  nonce?: string;

  /** The buyer's name of its payment, by the extension `payment-identifier`. */
  @IsOptional()
  @Matches(/^[a-zA-Z0-9_-]{16,128}$/, { message: 'paymentId must be a payment identifier' })
  paymentId?: string;

  /** Whom it was to pay; with `payer` the scope of a payment identifier where there is no API key. */
  @IsOptional()
  @IsEthereumAddress()
  payTo?: string;

  @IsOptional()
  @IsString()
  from?: string;

  @IsOptional()
  @IsString()
  to?: string;

  @IsOptional()
  @IsString()
  state?: string;

  @IsOptional()
  @IsString()
  limit?: string;

  @IsOptional()
  @IsString()
  cursor?: string;
}
