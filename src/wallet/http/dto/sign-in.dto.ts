import { applyDecorators, type Type as Class } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { IsObject, ValidateIf, ValidateNested } from 'class-validator';
import type { Address } from 'viem';
import { NeedsOneOf } from '../../../platform/http/request.pipe.js';
import { IsEvmAddress, IsText } from '../../../platform/http/validators.js';
import { readAddress } from '../../../protocol/payment/wire-values.js';
import { SIGNATURE_MAX_BYTES, type SignedMessage } from '../../auth/sign-in.js';
import { AssertionDto } from '../../passkeys/dto/passkey.dto.js';

/** An object of another DTO class; it may be absent. */
const IsPart = (part: Class, description: string): PropertyDecorator =>
  applyDecorators(
    ApiProperty({ type: () => part, required: false, description }),
    ValidateIf((_dto, value) => value !== undefined),
    IsObject(),
    ValidateNested(),
    Type(() => part),
  );

const optional = true;
const SIGNATURE_MAX = 2 + 2 * SIGNATURE_MAX_BYTES;

/** The address that is about to sign. */
export class ChallengeDto {
  /** Lower case. */
  @Transform(({ value }: { value: unknown }) => readAddress(value) ?? value)
  @IsEvmAddress({ example: '0x90F79bf6EB2c4f870365E785982E1f101E93b906' })
  readonly address!: Address;
}

/** A message that an owner has signed: by a key or a contract, or by a passkey. */
@ApiSchema({ description: 'With `signature`, or with `assertion`.' })
@NeedsOneOf('signature', 'assertion')
export class SignedMessageDto implements SignedMessage {
  @IsEvmAddress()
  readonly address!: string;

  @IsText({ maxLength: 4096 })
  readonly message!: string;

  @IsText(
    { maxLength: SIGNATURE_MAX },
    {
      optional,
      description:
        'EIP-191, 65 bytes. For a contract, the signature that the contract accepts (ERC-1271, ERC-6492).',
    },
    { type: 'string', pattern: '^0x([0-9a-fA-F]{2})*$', maxLength: SIGNATURE_MAX },
  )
  readonly signature?: string;

  @IsPart(AssertionDto, 'Of a passkey (WebAuthn), whose challenge is SHA-256 of the message.')
  readonly assertion?: AssertionDto;
}

/** The owner starts the approval of an agent. */
export class ApprovalChallengeDto extends ChallengeDto {
  @IsText({ maxLength: 64 }, { description: 'The user code, as the link names it.' })
  readonly code!: string;
}

/** The owner approves an agent. */
@ApiSchema({ description: 'With `signature`, or with `assertion`.' })
@NeedsOneOf('signature', 'assertion')
export class ApprovalDto extends SignedMessageDto {
  @IsText({ maxLength: 64 }, { description: 'The user code, as the link names it.' })
  readonly code!: string;
}

/** An agent collects its token. */
export class CollectDto {
  @IsText({ maxLength: 128 }, { description: 'The secret of the agent.' })
  readonly code!: string;
}
