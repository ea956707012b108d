import { S3_KEYS, type S3Fixture } from './s3-fixture.js';

/** Where a hub of a test keeps its files. */
interface Bucket {
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/**
 * The server that `S3_ENDPOINT` names, with `S3_BUCKET`, `S3_ACCESS_KEY_ID` and `S3_SECRET_ACCESS_KEY`; that of a
 * fixture where none is given.
 */
export function bucketOf(fixture: S3Fixture): Bucket {
  const { env } = process;
  const endpoint = env['S3_ENDPOINT'];
  if (endpoint === undefined) return { endpoint: fixture.url, bucket: 'files', ...S3_KEYS };
  return {
    endpoint,
    bucket: env['S3_BUCKET'] ?? 'files',
    accessKeyId: env['S3_ACCESS_KEY_ID'] ?? '',
    secretAccessKey: env['S3_SECRET_ACCESS_KEY'] ?? '',
  };
}
