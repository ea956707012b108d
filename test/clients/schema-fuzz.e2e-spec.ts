import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Service } from '../../sandbox/service.js';
import { walletSettings } from '../../sandbox/wallet.js';
import { get } from '../support/http.js';
import type { Json } from '../support/payments.js';
import { type Finished, INSTALL_MS, pythonWith, ROOT, run } from '../support/programs.js';
import { TEST_SEED } from '../support/seed.js';
import { World } from '../support/world.js';

const PYTHON = join(ROOT, 'test', 'clients', 'python');
/** Of each operation, beside its examples and the bounds of every value. */
const REQUESTS = '10';

describe('a fuzzer that reads /openapi.json', () => {
  let world: World;
  let service: Service;
  let dir: string;
  let fuzz: (...args: readonly string[]) => Promise<Finished>;

  beforeAll(async () => {
    const programs = pythonWith(join(PYTHON, 'requirements.txt'));
    world = await World.start({ blockTime: 0.3 });
    dir = mkdtempSync(join(tmpdir(), 'x402-schema-fuzz-'));
    const { usd, coin } = world;
    service = await world.service({
      ROLES: 'all',
      HUB_DATA_DIR: join(dir, 'hub'),
      ...walletSettings(`eip155:${world.chainId}`, { usd, coin }, join(dir, 'wallet'), []),
      // It asks faster than people do.
      WALLET_RATE_LIMIT: '100000',
    });
    const options = ['--seed', String(TEST_SEED), '--no-color', '--suppress-health-check', 'all'];
    fuzz = (...args) =>
      run(
        join(programs, 'st'),
        [
          '--config-file',
          join(PYTHON, 'schemathesis.toml'),
          'run',
          ...args,
          ...options,
          // A test knows nothing of what earlier ones have found.
          '--generation-database',
          'none',
        ],
        {},
        // It keeps what it found there.
        { cwd: dir },
      );
  }, INSTALL_MS);
  afterAll(async () => {
    await world.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it(
    'finds no answer that is not as described, and no request that is',
    async () => {
      const phases = ['--phases', 'examples,coverage,fuzzing', '--max-examples', REQUESTS];
      const { status, output } = await fuzz(`${service.url}/openapi.json`, ...phases);
      expect([status, status === 0 ? '' : output]).toEqual([0, '']);
      expect(service.log()).not.toMatch(/"level":[56]0/);
    },
    INSTALL_MS,
  );

  it('notices a description that is not true', async () => {
    const { body } = await get(`${service.url}/openapi.json`);
    const { schemas } = body['components'] as { schemas: { Supported: { required: string[] } } };
    schemas.Supported.required.push('nothing');
    const file = join(dir, 'openapi.json');
    writeFileSync(file, JSON.stringify(body satisfies Json));
    const { status, output } = await fuzz(
      file,
      '--url',
      service.url,
      '--include-path',
      '/supported',
      '--phases',
      'coverage',
    );
    expect([status, output]).toEqual([1, expect.stringContaining('"nothing" is a required')]);
  });
});
