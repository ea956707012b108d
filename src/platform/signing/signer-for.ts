import type { Clock } from '../concurrency/clock.js';
import type { SignerConfig, SignerKey } from '../config/signer-settings.js';
import { AwsKms } from './aws-kms.js';
import { type DigestSigner, LocalSigner } from './digest-signer.js';
import { GcpKms } from './gcp-kms.js';
import type { KeyService } from './key-service.js';
import { KeyServiceSigner, type SigningObserver } from './key-service-signer.js';

interface SignerParts {
  readonly config: SignerConfig;
  readonly observer: SigningObserver;
  readonly clock: Clock;
}

/** The signer for a key in the settings. */
export function signerFor(key: SignerKey, { config, observer, clock }: SignerParts): DigestSigner {
  if (key.kind === 'local') return new LocalSigner(key.key);
  const { timeoutMs, awsEndpoint, gcpEndpoint } = config;
  const { kind, name, address } = key;
  const service: KeyService =
    kind === 'aws-kms'
      ? new AwsKms({ key: name, endpoint: awsEndpoint })
      : new GcpKms({ version: name, endpoint: gcpEndpoint, timeoutMs });
  const own = { service, address, name: `${kind}:${name}`, timeoutMs, random: Math.random };
  return new KeyServiceSigner({ ...own, observer, clock });
}
