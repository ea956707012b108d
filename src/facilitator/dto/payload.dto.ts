import type { Type } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import {
  ADDRESS_SCHEMA,
  NONCE_SCHEMA,
  UNIX_SECONDS_SCHEMA,
} from '../../protocol/payment/wire-schemas.js';
import { type JsonObject, readOptionalObject } from '../../protocol/payment/wire-values.js';
import { channelPayloadOf } from './channel-payload.dto.js';
import { AddressField, IntegerField, IntegerTextField, Part, SignatureField } from './fields.js';

/** The payloads that buyers sign, by scheme and transfer method (x402 specification, schemes `exact`, `upto` and `batch-settlement` on EVM). */

/**
 * EIP-3009 `TransferWithAuthorization`. Addresses and nonce that no wallet can have signed are refused for
 * the signature, as the reference implementation does.
 */
@ApiSchema({ name: 'Eip3009Authorization' })
class Eip3009AuthorizationDto {
  @ApiProperty(ADDRESS_SCHEMA)
  readonly from!: string;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly to!: string;

  @IntegerField()
  readonly value!: string;

  @IntegerField(UNIX_SECONDS_SCHEMA)
  readonly validAfter!: string;

  @IntegerField(UNIX_SECONDS_SCHEMA)
  readonly validBefore!: string;

  @ApiProperty({ type: 'string', pattern: '^0x[0-9a-fA-F]{64}$' })
  readonly nonce!: string;
}

@ApiSchema({ name: 'Eip3009Payload' })
export class Eip3009PayloadDto {
  @SignatureField()
  readonly signature!: string;

  @Part(Eip3009AuthorizationDto)
  readonly authorization!: Eip3009AuthorizationDto;
}

@ApiSchema({ name: 'Permit2Permitted' })
class Permit2PermittedDto {
  @AddressField()
  readonly token!: string;

  @IntegerField()
  readonly amount!: string;
}

@ApiSchema({ name: 'Permit2Witness' })
class Permit2WitnessDto {
  @AddressField()
  readonly to!: string;

  @IntegerField(UNIX_SECONDS_SCHEMA)
  readonly validAfter!: string;
}

/** Permit2 `PermitWitnessTransferFrom`, spent by the x402 proxy. */
@ApiSchema({ name: 'Permit2Authorization' })
class Permit2AuthorizationDto {
  @AddressField()
  readonly from!: string;

  @Part(Permit2PermittedDto)
  readonly permitted!: Permit2PermittedDto;

  @AddressField()
  readonly spender!: string;

  @IntegerField(NONCE_SCHEMA)
  readonly nonce!: string;

  @IntegerField(UNIX_SECONDS_SCHEMA)
  readonly deadline!: string;

  @Part(Permit2WitnessDto)
  readonly witness!: Permit2WitnessDto;
}

@ApiSchema({ name: 'Permit2Payload' })
export class Permit2PayloadDto {
  @SignatureField()
  readonly signature!: string;

  @Part(Permit2AuthorizationDto)
  readonly permit2Authorization!: Permit2AuthorizationDto;
}

@ApiSchema({ name: 'UptoPermitted' })
class UptoPermittedDto {
  @AddressField()
  readonly token!: string;

  @IntegerTextField()
  readonly amount!: string;
}

@ApiSchema({ name: 'UptoWitness' })
class UptoWitnessDto {
  @AddressField()
  readonly to!: string;

  @AddressField()
  readonly facilitator!: string;

  @IntegerTextField(UNIX_SECONDS_SCHEMA)
  readonly validAfter!: string;
}

/** The same for a maximum. Numbers have to be text, as in the reference implementation. */
@ApiSchema({ name: 'UptoAuthorization' })
class UptoAuthorizationDto {
  @AddressField()
  readonly from!: string;

  @Part(UptoPermittedDto)
  readonly permitted!: UptoPermittedDto;

  @AddressField()
  readonly spender!: string;

  @IntegerTextField(NONCE_SCHEMA)
  readonly nonce!: string;

  @IntegerTextField(UNIX_SECONDS_SCHEMA)
  readonly deadline!: string;

  @Part(UptoWitnessDto)
  readonly witness!: UptoWitnessDto;
}

@ApiSchema({ name: 'UptoPermit2Payload' })
export class UptoPayloadDto {
  @SignatureField()
  readonly signature!: string;

  @Part(UptoAuthorizationDto)
  readonly permit2Authorization!: UptoAuthorizationDto;
}

/** The payload of a scheme that is not served. */
@ApiSchema({ name: 'OtherPayload' })
class OtherPayloadDto {}

/** The class of `paymentPayload.payload` in a V2 body, by the scheme that the requirements name. */
export function payloadOfV2({ paymentRequirements, paymentPayload }: JsonObject): Type<object> {
  const inner = readOptionalObject(readOptionalObject(paymentPayload)?.['payload']);
  switch (readOptionalObject(paymentRequirements)?.['scheme']) {
    case 'exact':
      // The shape of the payload decides the method, never `extra.assetTransferMethod`.
      return inner !== undefined && Object.hasOwn(inner, 'permit2Authorization')
        ? Permit2PayloadDto
        : Eip3009PayloadDto;
    case 'upto':
      return UptoPayloadDto;
    case 'batch-settlement':
      return channelPayloadOf(inner ?? {});
    default:
      return OtherPayloadDto;
  }
}
