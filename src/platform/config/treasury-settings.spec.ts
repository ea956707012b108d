import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { privateKeyToAddress } from 'viem/accounts';
import { AppConfig, ConfigError } from './app-config.js';

const LANE_KEY = `0x${'11'.repeat(32)}` as const;
const KEY = `0x${'22'.repeat(32)}`;
const base = { REDIS_URL: 'redis://localhost:6379', SIGNER_KEYS: LANE_KEY };
const treasury = {
  TREASURY_KEY_56: KEY,
  TREASURY_REFILL_BELOW_56: '100',
  TREASURY_REFILL_TO_56: '1000',
  TREASURY_DAILY_CAP_56: '0.25',
};
const treasuryOf = (env: Record<string, string>, chainId = 56) =>
  AppConfig.fromEnv({ ...base, ...env }).networks.find((one) => one.chainId === chainId)?.treasury;

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    AppConfig.fromEnv({ ...base, ...env });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
  }
  throw new Error('these settings were taken');
}

describe('settings of a treasury', () => {
  it('are off without a key, whatever else is given', () => {
    expect(treasuryOf({})).toBeUndefined();
    expect(treasuryOf({ ...treasury, TREASURY_KEY_56: '' })).toBeUndefined();
  });

  it('are of one chain, and never print the key', () => {
    const read = treasuryOf(treasury);
    expect(read).toMatchObject({
      refillBelow: 100,
      refillTo: 1000,
      dailyCapWei: 250_000_000_000_000_000n,
    });
    expect(inspect(read, { depth: 9 })).not.toContain(KEY.slice(2));
    expect(treasuryOf(treasury, 97)).toBeUndefined();
  });

  it('take a mounted file, and a key that a service keeps', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'treasury-')), 'key');
    writeFileSync(path, `${KEY}\n`);
    const inFile = { ...treasury, TREASURY_KEY_56: '', TREASURY_KEY_56_FILE: path };
    expect(treasuryOf(inFile)?.key.kind).toBe('local');
    const address = `0x${'AB'.repeat(20)}`;
    expect(treasuryOf({ ...treasury, TREASURY_KEY_56: `aws-kms:alias/x@${address}` })?.key).toEqual(
      { kind: 'aws-kms', name: 'alias/x', address: address.toLowerCase() },
    );
  });

  it.each<[string, Record<string, string>, readonly string[]]>([
    [
      'a key alone',
      { TREASURY_KEY_56: KEY },
      [
        'TREASURY_REFILL_BELOW_56: is required with TREASURY_KEY_56',
        'TREASURY_REFILL_TO_56: is required with TREASURY_KEY_56',
        'TREASURY_DAILY_CAP_56: is required with TREASURY_KEY_56',
      ],
    ],
    [
      'the key of a lane',
      { ...treasury, TREASURY_KEY_56: LANE_KEY },
      ['TREASURY_KEY_56: must not be the key of a lane; make another key'],
    ],
    [
      'the account of a lane, kept elsewhere',
      { ...treasury, TREASURY_KEY_56: `aws-kms:alias/x@${privateKeyToAddress(LANE_KEY)}` },
      ['TREASURY_KEY_56: must not be the key of a lane; make another key'],
    ],
    [
      'nothing to refill up to',
      { ...treasury, TREASURY_REFILL_TO_56: '100' },
      ['TREASURY_REFILL_TO_56: must be more than TREASURY_REFILL_BELOW_56'],
    ],
    [
      'a cap of nothing',
      { ...treasury, TREASURY_DAILY_CAP_56: '0' },
      ['TREASURY_DAILY_CAP_56: must be more than 0'],
    ],
    [
      'the key of receipts',
      { ...treasury, RECEIPT_KEY: KEY },
      ['RECEIPT_KEY: must not be the key of a signer; make another key'],
    ],
  ])('refuse %s', (_, env, problems) => {
    expect(problemsOf(env)).toEqual(problems);
  });
});
