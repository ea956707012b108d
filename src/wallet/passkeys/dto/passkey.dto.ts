import { IsText } from '../../../platform/http/validators.js';
import { type Assertion, type Attestation, CREDENTIAL_ID_MAX } from '../passkey.js';

const IsBase64Url = (maxLength: number): PropertyDecorator =>
  IsText({
    pattern: /^[\w-]+$/,
    maxLength,
    message: `must be base64url of at most ${maxLength} characters`,
  });

/** Identifies a passkey. */
export class FindPasskeyDto {
  @IsBase64Url(CREDENTIAL_ID_MAX)
  readonly id!: string;
}

/** The answer of an authenticator when it makes a key. */
export class AttestationDto extends FindPasskeyDto implements Attestation {
  @IsBase64Url(4096)
  readonly attestationObject!: string;

  @IsBase64Url(2048)
  readonly clientDataJSON!: string;
}

/** The answer of an authenticator when it signs. */
export class AssertionDto extends FindPasskeyDto implements Assertion {
  @IsBase64Url(1024)
  readonly authenticatorData!: string;

  @IsBase64Url(2048)
  readonly clientDataJSON!: string;

  @IsBase64Url(256)
  readonly signature!: string;
}
