import type { Type } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, ApiSchema, getSchemaPath } from '@nestjs/swagger';
import {
  ATOMIC_UNITS_SCHEMA,
  NONCE_SCHEMA,
  SIGNATURE_SCHEMA,
  TRANSACTION_HASH_SCHEMA as BYTES32_SCHEMA,
  UNIX_SECONDS_SCHEMA,
} from '../../protocol/payment/wire-schemas.js';
import {
  CLAIM_ROWS_MAX,
  type JsonObject,
  readAddress,
  readBytes,
  readBytes32,
  readOptionalObject,
  readUint,
  SIGNATURE_MAX_BYTES,
  UINT40_MAX,
  UINT128_MAX,
} from '../../protocol/payment/wire-values.js';
import { AddressField, Field, isText, OptionalPart, Part, PartOf } from './fields.js';

/** The payloads of the scheme `batch-settlement`, by their `type`: what buyers sign for a channel, and what sellers ask of it. */

const TYPES = ['deposit', 'voucher', 'claim', 'settle', 'refund'] as const;

function TypeField(...types: readonly string[]): PropertyDecorator {
  const schema = { type: 'string', enum: [...types] } as const;
  return Field(schema, types.join(' or '), (value) => isText(value) && types.includes(value));
}

function UintField(schema: object = ATOMIC_UNITS_SCHEMA, most?: bigint): PropertyDecorator {
  const expected = 'a whole number as decimal text';
  return Field(schema, expected, (value) => readUint(value, most) !== undefined);
}

function Bytes32Field(): PropertyDecorator {
  const expected = '32 bytes as hexadecimal text';
  return Field(BYTES32_SCHEMA, expected, (value) => readBytes32(value) !== undefined);
}

function BytesField(): PropertyDecorator {
  return Field(SIGNATURE_SCHEMA, 'the signature as hexadecimal text', isSignature);
}

const isSignature = (value: unknown): boolean =>
  readBytes(value, SIGNATURE_MAX_BYTES) !== undefined;
const isUint128 = (value: unknown): boolean => readUint(value, UINT128_MAX) !== undefined;

@ApiSchema({ name: 'ChannelConfig' })
class ChannelConfigDto {
  @AddressField()
  readonly payer!: string;

  /** The key that signs vouchers; the zero address: the payer itself. */
  @AddressField()
  readonly payerAuthorizer!: string;

  @AddressField()
  readonly receiver!: string;

  @AddressField()
  readonly receiverAuthorizer!: string;

  @AddressField()
  readonly token!: string;

  @UintField({ type: 'integer', minimum: 0, maximum: Number(UINT40_MAX) }, UINT40_MAX)
  readonly withdrawDelay!: number;

  @Bytes32Field()
  readonly salt!: string;
}

@ApiSchema({ name: 'ChannelVoucher' })
class ChannelVoucherDto {
  @Bytes32Field()
  readonly channelId!: string;

  @UintField(ATOMIC_UNITS_SCHEMA, UINT128_MAX)
  readonly maxClaimableAmount!: string;

  @BytesField()
  readonly signature!: string;
}

@ApiSchema({ name: 'Eip3009Deposit' })
class Eip3009DepositDto {
  @UintField(UNIX_SECONDS_SCHEMA)
  readonly validAfter!: string;

  @UintField(UNIX_SECONDS_SCHEMA)
  readonly validBefore!: string;

  @Bytes32Field()
  readonly salt!: string;

  @BytesField()
  readonly signature!: string;
}

@ApiSchema({ name: 'Permit2DepositPermitted' })
class Permit2DepositPermittedDto {
  @AddressField()
  readonly token!: string;

  @UintField()
  readonly amount!: string;
}

@ApiSchema({ name: 'Permit2DepositWitness' })
class Permit2DepositWitnessDto {
  @Bytes32Field()
  readonly channelId!: string;
}

@ApiSchema({ name: 'Permit2Deposit' })
class Permit2DepositDto {
  @AddressField()
  readonly from!: string;

  @Part(Permit2DepositPermittedDto)
  readonly permitted!: Permit2DepositPermittedDto;

  @AddressField()
  readonly spender!: string;

  @UintField(NONCE_SCHEMA)
  readonly nonce!: string;

  @UintField(UNIX_SECONDS_SCHEMA)
  readonly deadline!: string;

  @Part(Permit2DepositWitnessDto)
  readonly witness!: Permit2DepositWitnessDto;

  @BytesField()
  readonly signature!: string;
}

@ApiSchema({ name: 'Eip3009DepositAuthorization' })
class Eip3009DepositAuthorizationDto {
  @OptionalPart(Eip3009DepositDto)
  readonly erc3009Authorization?: Eip3009DepositDto;
}

@ApiSchema({ name: 'Permit2DepositAuthorization' })
class Permit2DepositAuthorizationDto {
  @OptionalPart(Permit2DepositDto)
  readonly permit2Authorization?: Permit2DepositDto;
}

/** The offer names the method, or else the shape does. */
function authorizationOf({ paymentPayload, paymentRequirements }: JsonObject): Type<object> {
  const extra = readOptionalObject(readOptionalObject(paymentRequirements)?.['extra']);
  const method = extra?.['assetTransferMethod'];
  const inner = readOptionalObject(readOptionalObject(paymentPayload)?.['payload']);
  const sent = readOptionalObject(readOptionalObject(inner?.['deposit'])?.['authorization']);
  const isByPermit2 =
    method === undefined
      ? readOptionalObject(sent?.['permit2Authorization']) !== undefined
      : method === 'permit2';
  return isByPermit2 ? Permit2DepositAuthorizationDto : Eip3009DepositAuthorizationDto;
}

@ApiSchema({ name: 'ChannelDepositTerms' })
@ApiExtraModels(Eip3009DepositAuthorizationDto, Permit2DepositAuthorizationDto)
class ChannelDepositTermsDto {
  @Field(
    ATOMIC_UNITS_SCHEMA,
    'a whole number above 0 as decimal text',
    (value) => isText(value) && (readUint(value, UINT128_MAX) ?? 0n) > 0n,
  )
  readonly amount!: string;

  @PartOf([Eip3009DepositAuthorizationDto, Permit2DepositAuthorizationDto], authorizationOf)
  readonly authorization!: Eip3009DepositAuthorizationDto | Permit2DepositAuthorizationDto;
}

@ApiSchema({ name: 'ChannelDepositPayload' })
export class ChannelDepositDto {
  @TypeField('deposit')
  readonly type!: 'deposit';

  @Part(ChannelConfigDto)
  readonly channelConfig!: ChannelConfigDto;

  @Part(ChannelVoucherDto)
  readonly voucher!: ChannelVoucherDto;

  @Part(ChannelDepositTermsDto)
  readonly deposit!: ChannelDepositTermsDto;
}

/** A buyer's voucher, or its wish for a refund. */
@ApiSchema({ name: 'ChannelVoucherPayload' })
export class ChannelVoucherPayloadDto {
  @TypeField('voucher', 'refund')
  readonly type!: 'voucher' | 'refund';

  @Part(ChannelConfigDto)
  readonly channelConfig!: ChannelConfigDto;

  @Part(ChannelVoucherDto)
  readonly voucher!: ChannelVoucherDto;
}

@ApiSchema({ name: 'ChannelClaimVoucher' })
class ChannelClaimVoucherDto {
  @ApiProperty({ type: ChannelConfigDto })
  readonly channel!: ChannelConfigDto;

  @ApiProperty(ATOMIC_UNITS_SCHEMA)
  readonly maxClaimableAmount!: string;
}

@ApiSchema({ name: 'ChannelClaimRow' })
class ChannelClaimRowDto {
  @ApiProperty({ type: ChannelClaimVoucherDto })
  readonly voucher!: ChannelClaimVoucherDto;

  /** Of the voucher. */
  @ApiProperty(SIGNATURE_SCHEMA)
  readonly signature!: string;

  @ApiProperty(ATOMIC_UNITS_SCHEMA)
  readonly totalClaimed!: string;
}

const PARTIES = ['payer', 'payerAuthorizer', 'receiver', 'receiverAuthorizer', 'token'] as const;

function isRow(value: unknown): boolean {
  const { voucher, signature, totalClaimed } = readOptionalObject(value) ?? {};
  const { channel, maxClaimableAmount } = readOptionalObject(voucher) ?? {};
  const config = readOptionalObject(channel) ?? {};
  return (
    PARTIES.every((name) => readAddress(config[name]) !== undefined) &&
    readUint(config['withdrawDelay'], UINT40_MAX) !== undefined &&
    readBytes32(config['salt']) !== undefined &&
    [maxClaimableAmount, totalClaimed].every(isUint128) &&
    isSignature(signature)
  );
}

/** Rows are judged as a whole: a finding names one field. */
function RowsField(): PropertyDecorator {
  const items = { $ref: getSchemaPath(ChannelClaimRowDto) };
  return Field(
    { type: 'array', maxItems: CLAIM_ROWS_MAX, items },
    `a list of at most ${CLAIM_ROWS_MAX} claims, each whole`,
    (value) => Array.isArray(value) && value.length <= CLAIM_ROWS_MAX && value.every(isRow),
  );
}

const OPTIONAL_SIGNATURE = { ...SIGNATURE_SCHEMA, required: false } as const;

@ApiSchema({ name: 'ChannelClaimPayload' })
@ApiExtraModels(ChannelClaimRowDto)
export class ChannelClaimDto {
  @TypeField('claim')
  readonly type!: 'claim';

  @RowsField()
  readonly claims!: readonly ChannelClaimRowDto[];

  @ApiProperty(OPTIONAL_SIGNATURE)
  readonly claimAuthorizerSignature?: string;
}

@ApiSchema({ name: 'ChannelPayoutPayload' })
export class ChannelPayoutDto {
  @TypeField('settle')
  readonly type!: 'settle';

  @AddressField()
  readonly receiver!: string;

  @AddressField()
  readonly token!: string;
}

/** A refund as the seller has completed it. */
@ApiSchema({ name: 'ChannelRefundPayload' })
@ApiExtraModels(ChannelClaimRowDto)
export class ChannelRefundDto {
  @TypeField('refund')
  readonly type!: 'refund';

  @Part(ChannelConfigDto)
  readonly channelConfig!: ChannelConfigDto;

  @ApiProperty({ type: ChannelVoucherDto })
  readonly voucher!: ChannelVoucherDto;

  @UintField(ATOMIC_UNITS_SCHEMA, UINT128_MAX)
  readonly amount!: string;

  @UintField(NONCE_SCHEMA)
  readonly refundNonce!: string;

  @RowsField()
  readonly claims!: readonly ChannelClaimRowDto[];

  @ApiProperty(OPTIONAL_SIGNATURE)
  readonly refundAuthorizerSignature?: string;

  @ApiProperty(OPTIONAL_SIGNATURE)
  readonly claimAuthorizerSignature?: string;
}

/** Of no type that there is. */
class UnknownTypeDto {
  @TypeField(...TYPES)
  readonly type!: string;
}

export const CHANNEL_PAYLOADS = [
  ChannelDepositDto,
  ChannelVoucherPayloadDto,
  ChannelClaimDto,
  ChannelPayoutDto,
  ChannelRefundDto,
] as const;

/** The fields that only a refund completed by the seller has. */
const REFUND_PARTS = ['amount', 'refundNonce', 'claims'];

export function channelPayloadOf(inner: JsonObject): Type<object> {
  switch (inner['type']) {
    case 'deposit':
      return ChannelDepositDto;
    case 'voucher':
      return ChannelVoucherPayloadDto;
    case 'claim':
      return ChannelClaimDto;
    case 'settle':
      return ChannelPayoutDto;
    case 'refund':
      return REFUND_PARTS.every((name) => name in inner)
        ? ChannelRefundDto
        : ChannelVoucherPayloadDto;
    default:
      return UnknownTypeDto;
  }
}
