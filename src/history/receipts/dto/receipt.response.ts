import { ApiProperty, ApiSchema, OmitType } from '@nestjs/swagger';
import type { JWK } from 'jose';
import type { Address, Hex, TypedDataParameter } from 'viem';
import { CLOSED, free, text } from '../../../platform/http/openapi.js';
import {
  ADDRESS_SCHEMA,
  ATOMIC_UNITS_SCHEMA,
  CAIP2_SCHEMA,
  SETTLEMENT_ID_SCHEMA,
} from '../../../protocol/payment/wire-schemas.js';

const WORD = { ...text, pattern: '^0x[0-9a-f]{64}$' };
export const PRIMARY_TYPE = 'SettlementReceipt';

/** The signed fields of a receipt. Numbers are decimal text, as in the signed message. */
@ApiSchema(CLOSED)
export class SettlementReceipt {
  @ApiProperty(SETTLEMENT_ID_SCHEMA)
  readonly settlementId!: string;

  @ApiProperty(CAIP2_SCHEMA)
  readonly network!: string;

  @ApiProperty(text)
  readonly scheme!: string;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly asset!: Address;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly payer!: Address;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly payTo!: Address;

  @ApiProperty({ ...ATOMIC_UNITS_SCHEMA, description: 'The paid amount.' })
  readonly amount!: string;

  @ApiProperty({
    ...ATOMIC_UNITS_SCHEMA,
    description: 'The signed amount: the paid amount, or a maximum.',
  })
  readonly authorized!: string;

  @ApiProperty(ATOMIC_UNITS_SCHEMA)
  readonly nonce!: string;

  @ApiProperty({ ...ATOMIC_UNITS_SCHEMA, description: 'Unix seconds.' })
  readonly deadline!: string;

  @ApiProperty({ ...WORD, description: 'SHA-256 of all terms that the payer signed.' })
  readonly terms!: Hex;

  @ApiProperty(WORD)
  readonly transaction!: Hex;

  @ApiProperty(ATOMIC_UNITS_SCHEMA)
  readonly logIndex!: string;

  @ApiProperty(ATOMIC_UNITS_SCHEMA)
  readonly blockNumber!: string;

  @ApiProperty(WORD)
  readonly blockHash!: Hex;

  @ApiProperty({
    ...text,
    enum: ['included', 'finalized'],
    description: 'Finality of the payment when the receipt was signed.',
  })
  readonly finality!: 'included' | 'finalized';

  @ApiProperty({ ...ATOMIC_UNITS_SCHEMA, description: 'Unix seconds.' })
  readonly issuedAt!: string;
}

/** The same names and values, except the id as bytes. */
@ApiSchema(CLOSED)
class Eip712Receipt extends OmitType(SettlementReceipt, ['settlementId']) {
  @ApiProperty(WORD)
  readonly settlementId!: Hex;
}

class ReceiptDomain {
  @ApiProperty(text)
  readonly name!: string;

  @ApiProperty(text)
  readonly version!: string;

  @ApiProperty({ type: 'integer' })
  readonly chainId!: number;
}

@ApiSchema(CLOSED)
class Eip712Signature {
  @ApiProperty()
  readonly domain!: ReceiptDomain;

  @ApiProperty(free)
  readonly types!: Readonly<Record<string, readonly TypedDataParameter[]>>;

  @ApiProperty({ ...text, enum: [PRIMARY_TYPE] })
  readonly primaryType!: typeof PRIMARY_TYPE;

  @ApiProperty()
  readonly message!: Eip712Receipt;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly signer!: Address;

  @ApiProperty({ ...text, pattern: '^0x[0-9a-f]{130}$' })
  readonly signature!: Hex;
}

/** A receipt with two signatures: EIP-712 for contracts and wallets, JWS for other software. */
@ApiSchema(CLOSED)
export class SignedReceipt {
  @ApiProperty()
  readonly receipt!: SettlementReceipt;

  @ApiProperty()
  readonly eip712!: Eip712Signature;

  @ApiProperty({
    ...text,
    pattern: '^[A-Za-z0-9_-]+[.][A-Za-z0-9_-]+[.][A-Za-z0-9_-]+$',
    description: 'JWS in compact form, signed by EdDSA. The payload is the receipt.',
  })
  readonly jws!: string;
}

/** Keys for verifiers: a JWK set, and the signer addresses of EIP-712 signatures. */
export class ReceiptKeys {
  @ApiProperty({ type: 'array', items: free })
  readonly keys!: readonly JWK[];

  @ApiProperty({
    type: 'array',
    items: ADDRESS_SCHEMA,
    description: 'Addresses of the keys for EIP-712 signatures. The first key signs new receipts.',
  })
  readonly x402_receipt_signers!: readonly Address[];
}
