import { IsEthereumAddress, IsOptional, Matches } from 'class-validator';

/** `GET /v2/settlements?…`: by transaction, or by authorization. */
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
}
