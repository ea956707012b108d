import { S3ServiceException } from '@aws-sdk/client-s3';

const KEYS = 'HUB_S3_ACCESS_KEY_ID, HUB_S3_SECRET_ACCESS_KEY';

export const IGNORES_CONDITIONS =
  'HUB_S3_ENDPOINT: this service ignores If-None-Match on PUT, so two processes could overwrite ' +
  "each other's files. Use a service that supports it";

/** By the name of the error; none of them ends by itself. */
const PROBLEMS: Readonly<Record<string, string>> = {
  NoSuchBucket: 'HUB_S3_BUCKET: there is no such bucket at this endpoint',
  InvalidBucketName: 'HUB_S3_BUCKET: is not a valid name of a bucket',
  AccessDenied: `HUB_S3_BUCKET, ${KEYS}: these keys may not write to this bucket`,
  InvalidAccessKeyId: `${KEYS}: the service does not know these keys`,
  SignatureDoesNotMatch: `${KEYS}: the service refuses these keys`,
  /** Of the SDK, when it was given no keys and finds none. */
  CredentialsProviderError: `${KEYS}: are not set, and the AWS SDK finds no other credentials`,
  PermanentRedirect:
    'HUB_S3_REGION, HUB_S3_ENDPOINT: the bucket is in another region or at another endpoint',
  AuthorizationHeaderMalformed: 'HUB_S3_REGION: the bucket is in another region',
  /** Services that know no conditional writes may refuse them. */
  NotImplemented: IGNORES_CONDITIONS,
};

/** Of what may be over in a moment, though it is the client's fault by its status. */
const PASSING_STATUSES = [408, 409, 425, 429];

/**
 * The setting that the operator has to mend when the bucket answers and cannot be used; `undefined`
 * for a failure that may end by itself. The service's own words are not repeated.
 *
 * @param error - of an operation on the bucket, or what it wraps.
 */
export function s3StartProblem(error: unknown): string | undefined {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (!(cause instanceof Error)) return undefined;
  const known = Object.hasOwn(PROBLEMS, cause.name) ? PROBLEMS[cause.name] : undefined;
  if (known !== undefined) return known;
  if (!(cause instanceof S3ServiceException)) return undefined;
  const status = cause.$metadata.httpStatusCode ?? 0;
  const isRefusal = status >= 300 && status < 500 && !PASSING_STATUSES.includes(status);
  return isRefusal
    ? `HUB_S3_BUCKET, HUB_S3_ENDPOINT, ${KEYS}: the service refuses a write with status ${status}`
    : undefined;
}
