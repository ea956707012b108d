import { Transform } from 'class-transformer';
import type { Address } from 'viem';
import { IsEvmAddress, IsText } from '../../../platform/http/validators.js';
import { readAddress } from '../../../protocol/payment/wire-values.js';
import { SIGNATURE_MAX_BYTES, type SignedMessage } from '../../auth/sign-in.js';
import { AssertionDto } from '../../passkeys/dto/passkey.dto.js';
import { IsPart } from './is-part.js';

const optional = true;

/** Who is about to sign. */
export class ChallengeDto {
  /** Lower case. */
  @Transform(({ value }: { value: unknown }) => readAddress(value) ?? value)
  @IsEvmAddress()
  readonly address!: Address;
}

/** A message that an owner has signed: by a key or a contract, or by a passkey. */
export class SignedMessageDto implements SignedMessage {
  @IsEvmAddress()
  readonly address!: string;

  @IsText({ maxLength: 4096 })
  readonly message!: string;

  @IsText({ maxLength: 2 + 2 * SIGNATURE_MAX_BYTES }, { optional })
  readonly signature?: string;

  @IsPart(AssertionDto)
  readonly assertion?: AssertionDto;
}

/** An owner is about to let an agent in. */
export class ApprovalChallengeDto extends ChallengeDto {
  /** The user code. */
  @IsText({ maxLength: 64 })
  readonly code!: string;
}

/** An owner lets an agent in. */
export class ApprovalDto extends SignedMessageDto {
  /** The user code. */
  @IsText({ maxLength: 64 })
  readonly code!: string;
}

/** An agent collects its token. */
export class CollectDto {
  /** The secret of the agent. */
  @IsText({ maxLength: 128 })
  readonly code!: string;
}
