import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, type ApiPropertyOptions, ApiSchema } from '@nestjs/swagger';
import { withExamples } from '../../platform/http/openapi.js';
import { chainIdOf, chainIdOfV1Name } from '../../protocol/payment/network.js';
import {
  ATOMIC_UNITS_SCHEMA,
  CAIP2_SCHEMA,
  TEXT_SCHEMA,
} from '../../protocol/payment/wire-schemas.js';
import {
  isJsonObject,
  type JsonObject,
  readInteger,
  readOptionalObject,
  TOKEN_NAME_MAX,
  TOKEN_VERSION_MAX,
} from '../../protocol/payment/wire-values.js';
import { allSchemes, schemeNamed } from '../../protocol/schemes/registry.js';
import { REQUEST_UPTO, REQUEST_V1, REQUEST_V2 } from '../openapi/examples.js';
import { CHANNEL_PAYLOADS } from './channel-payload.dto.js';
import {
  ADDRESS,
  AddressField,
  Field,
  type Fix,
  isText,
  OptionalPart,
  Part,
  PartOf,
  ShortTextField,
} from './fields.js';
import {
  Eip3009PayloadDto,
  payloadOfV2,
  Permit2PayloadDto,
  UptoPayloadDto,
} from './payload.dto.js';

/** Bodies of verify and settle (x402 specification V1 §5, V2 §5). Unknown fields are ignored. */

type Version = 1 | 2;

const ANYTHING = { type: 'object', additionalProperties: true, selfRequired: false } as const;
const OPTIONAL_TEXT = { type: 'string', required: false } as const;

function VersionField(version: Version): PropertyDecorator {
  const schema = { type: 'integer', enum: [version] } as const;
  return Field(schema, String(version), (value) => value === version);
}

/** Outside the payload the version may be absent. */
function OuterVersionField(version: Version): PropertyDecorator {
  const schema = { type: 'integer', enum: [version], required: false } as const;
  const isGood = (value: unknown): boolean => value === undefined || value === version;
  return Field(schema, `${version}, as in the payload`, isGood);
}

const schemesOf = (version: Version): string[] =>
  allSchemes()
    .filter(({ versions }) => versions.includes(version))
    .map(({ name }) => name);

function SchemeField(version: Version): PropertyDecorator {
  const names = schemesOf(version);
  const schema = { type: 'string', enum: names } as const;
  const isServed = (value: unknown): boolean =>
    isText(value) && schemeNamed(value, version) !== undefined;
  return applyDecorators(
    Field(schema, 'the name of a scheme', isText),
    Field(schema, names.join(' or '), isServed),
  );
}

function NetworkField(version: Version): PropertyDecorator {
  const schema: ApiPropertyOptions =
    version === 2
      ? { ...CAIP2_SCHEMA, description: 'CAIP-2.' }
      : { type: 'string', minLength: 1, description: 'A V1 short name, such as `bsc`.' };
  const chainIdOfName = version === 2 ? chainIdOf : chainIdOfV1Name;
  const isKnown = (value: unknown): boolean => isText(value) && chainIdOfName(value) !== undefined;
  return applyDecorators(
    Field(schema, 'the name of a network', isText),
    Field(schema, 'a network that /supported lists', isKnown),
  );
}

/** The scheme defines the form of an amount. */
function AmountField(version: Version, otherName: string): PropertyDecorator {
  const isGood = (value: unknown, { scheme: name }: JsonObject): boolean => {
    const scheme = isText(name) ? schemeNamed(name, version) : undefined;
    const amount = scheme?.readAmount ? scheme.readAmount(value) : readInteger(value);
    return amount !== undefined;
  };
  const fix: Fix = ({ paymentRequirements }) => {
    const sent = readOptionalObject(paymentRequirements);
    return sent !== undefined && otherName in sent
      ? `In version ${version} the field is ${version === 1 ? 'maxAmountRequired' : 'amount'}.`
      : undefined;
  };
  const expected = 'atomic units: a whole number as decimal text';
  return Field(ATOMIC_UNITS_SCHEMA, expected, isGood, fix);
}

const EXTRA = { name: 'Extra', additionalProperties: true };

/** The `extra` of requirements: known fields, and any that a scheme adds. */
@ApiSchema(EXTRA)
class ExtraDto {
  @ShortTextField(
    TOKEN_NAME_MAX,
    'Of the EIP-712 domain of the token. Some buyers need it for Permit2 too.',
  )
  readonly name?: string;

  @ShortTextField(TOKEN_VERSION_MAX)
  readonly version?: string;
}

@ApiSchema({ name: 'RequirementsV2' })
class V2RequirementsDto {
  @SchemeField(2)
  readonly scheme!: string;

  @NetworkField(2)
  readonly network!: string;

  @AddressField(`${ADDRESS} of the token`)
  readonly asset!: string;

  @AddressField()
  readonly payTo!: string;

  @AmountField(2, 'maxAmountRequired')
  readonly amount!: string;

  @OptionalPart(ExtraDto)
  readonly extra?: ExtraDto;

  @ApiProperty({ type: 'integer', minimum: 0, required: false })
  readonly maxTimeoutSeconds?: number;
}

@ApiSchema({ name: 'RequirementsV1' })
class V1RequirementsDto {
  @SchemeField(1)
  readonly scheme!: string;

  @NetworkField(1)
  readonly network!: string;

  @AddressField(`${ADDRESS} of the token`)
  readonly asset!: string;

  @AddressField()
  readonly payTo!: string;

  @AmountField(1, 'amount')
  readonly maxAmountRequired!: string;

  @OptionalPart(ExtraDto)
  readonly extra?: ExtraDto;

  @ApiProperty({ type: 'integer', minimum: 0, required: false })
  readonly maxTimeoutSeconds?: number;

  @ApiProperty(OPTIONAL_TEXT)
  readonly resource?: string;

  @ApiProperty(OPTIONAL_TEXT)
  readonly description?: string;

  @ApiProperty(OPTIONAL_TEXT)
  readonly mimeType?: string;
}

const PAYLOADS = [
  Eip3009PayloadDto,
  Permit2PayloadDto,
  UptoPayloadDto,
  ...CHANNEL_PAYLOADS,
] as const;

const REPEATS: Fix = () => 'Version 2 repeats the accepted requirements in the payment.';

@ApiSchema({ name: 'PaymentV2' })
@ApiExtraModels(...PAYLOADS)
class V2PaymentPayloadDto {
  @VersionField(2)
  readonly x402Version!: 2;

  /** Compared with the requirements once the payment is read. */
  @Field({ type: V2RequirementsDto }, 'an object', isJsonObject, REPEATS)
  readonly accepted!: V2RequirementsDto;

  @PartOf(PAYLOADS, payloadOfV2)
  readonly payload!: InstanceType<(typeof PAYLOADS)[number]>;

  @ApiProperty(ANYTHING)
  readonly resource?: object;

  @ApiProperty(ANYTHING)
  readonly extensions?: object;
}

@ApiSchema({ name: 'PaymentV1' })
class V1PaymentPayloadDto {
  @VersionField(1)
  readonly x402Version!: 1;

  @ApiProperty({ type: 'string', enum: schemesOf(1) })
  readonly scheme!: string;

  @ApiProperty(TEXT_SCHEMA)
  readonly network!: string;

  @Part(Eip3009PayloadDto)
  readonly payload!: Eip3009PayloadDto;
}

const decode: Fix = ({ paymentPayload, paymentRequirements, paymentHeader }) =>
  [paymentHeader, isJsonObject(paymentPayload) ? paymentRequirements : paymentPayload].some(isText)
    ? 'Decode the payment header first: base64, then JSON, once each.'
    : undefined;

const chooseOne: Fix = (body) =>
  Array.isArray(body['paymentRequirements'])
    ? 'Send the one entry of accepts that was paid for.'
    : decode(body);

@ApiSchema({ name: 'RequestV2', ...withExamples(REQUEST_V2, REQUEST_UPTO) })
export class V2PaymentRequestDto {
  @Part(V2PaymentPayloadDto, decode)
  readonly paymentPayload!: V2PaymentPayloadDto;

  @Part(V2RequirementsDto, chooseOne)
  readonly paymentRequirements!: V2RequirementsDto;

  @OuterVersionField(2)
  readonly x402Version?: 2;
}

@ApiSchema({ name: 'RequestV1', ...withExamples(REQUEST_V1) })
export class V1PaymentRequestDto {
  @Part(V1PaymentPayloadDto, decode)
  readonly paymentPayload!: V1PaymentPayloadDto;

  @Part(V1RequirementsDto, chooseOne)
  readonly paymentRequirements!: V1RequirementsDto;

  @OuterVersionField(1)
  readonly x402Version?: 1;
}

/** The class of a body, by the version that its payload names. */
export function requestTypeOf({ paymentPayload }: JsonObject): Type<object> {
  return readOptionalObject(paymentPayload)?.['x402Version'] === 1
    ? V1PaymentRequestDto
    : V2PaymentRequestDto;
}
