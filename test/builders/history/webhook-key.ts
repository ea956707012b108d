import type { AppConfig } from '../../../src/platform/config/app-config.js';
import { Secret } from '../../../src/platform/config/secret.js';

/** Settings with a key for webhooks, made of one letter. */
export const withKey = (letter: string): AppConfig =>
  ({ webhooks: { key: new Secret(letter.repeat(32)) } }) as unknown as AppConfig;
