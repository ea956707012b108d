import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Service } from '../../sandbox/service.js';
import { walletSettings } from '../../sandbox/wallet.js';
import { type Json, newAccount } from '../support/payments.js';
import { eip3009Body } from '../support/payments.js';
import { type Finished, INSTALL_MS, pythonWith, ROOT, run } from '../support/programs.js';
import { World } from '../support/world.js';

const HERE = join(ROOT, 'test', 'clients');
const PYTHON = join(HERE, 'python');
/** Below the packages, which programs find by their folder. */
const TYPESCRIPT = join(ROOT, 'node_modules', '.cache', 'generated-client');

describe('clients generated from /openapi.json', () => {
  let world: World;
  let service: Service;
  let dir: string;

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.3 });
    dir = mkdtempSync(join(tmpdir(), 'x402-clients-'));
    const network = `eip155:${world.chainId}`;
    const { usd, coin } = world;
    // Of everything there is, so that all of it is generated.
    service = await world.service({
      ROLES: 'all',
      HUB_DATA_DIR: join(dir, 'hub'),
      ...walletSettings(network, { usd, coin }, join(dir, 'wallet'), []),
    });
  });
  afterAll(async () => {
    await world.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const request = async (): Promise<string> =>
    JSON.stringify(
      await eip3009Body({
        payer: await world.payer(),
        chainId: world.chainId,
        token: world.usd,
        payTo: newAccount().address,
      }),
    );

  async function expectSettled({ status, output }: Finished): Promise<void> {
    expect([status, output]).toEqual([0, expect.stringMatching(/^{.*}\s*$/)]);
    const reported = JSON.parse(output) as Json;
    expect(reported).toMatchObject({
      networks: expect.arrayContaining([`eip155:${world.chainId}`]) as unknown,
      isValid: true,
      success: true,
      again: 'duplicate_settlement',
      state: expect.stringMatching(/^(included|finalized)$/) as unknown,
      params: [{ to: '0x' }, 'latest'],
    });
    const hash = reported['transaction'] as `0x${string}`;
    expect((await world.client.getTransactionReceipt({ hash })).status).toBe('success');
  }

  it(
    'settles with one in Python',
    async () => {
      const programs = pythonWith(join(PYTHON, 'requirements.txt'));
      const client = join(dir, 'python', 'x402_facilitator');
      mkdirSync(join(dir, 'python'));
      const generated = await run(
        join(programs, 'openapi-python-client'),
        [
          'generate',
          '--url',
          `${service.url}/openapi.json`,
          '--output-path',
          client,
          '--meta',
          'none',
          '--fail-on-warning',
        ],
        // It formats what it has written, with a program beside it.
        { PATH: `${programs}:${process.env['PATH'] ?? ''}` },
      );
      expect(generated).toEqual({ status: 0, output: expect.any(String) as unknown });
      expect(generated.output).not.toMatch(/warning/i);
      const args = [join(PYTHON, 'settle.py'), join(dir, 'python'), service.url];
      await expectSettled(
        await run(join(programs, 'python'), args, {}, { input: await request() }),
      );
    },
    INSTALL_MS,
  );

  it(
    'settles with one in TypeScript, and every type is as it is used',
    async () => {
      rmSync(TYPESCRIPT, { recursive: true, force: true });
      mkdirSync(TYPESCRIPT, { recursive: true });
      const types = join(TYPESCRIPT, 'api.d.ts');
      const bin = join(ROOT, 'node_modules', '.bin');
      const generated = await run(join(bin, 'openapi-typescript'), [
        `${service.url}/openapi.json`,
        '--output',
        types,
      ]);
      expect(generated).toEqual({ status: 0, output: expect.stringContaining('openapi.json') });
      copyFileSync(join(HERE, 'typescript', 'settle.ts'), join(TYPESCRIPT, 'settle.ts'));
      writeFileSync(join(TYPESCRIPT, 'package.json'), '{ "type": "module" }');
      const options = ['--ignoreConfig', '--strict', '--module', 'nodenext', '--types', 'node'];
      const program = join(TYPESCRIPT, 'settle.ts');
      const compiled = await run(join(bin, 'tsc'), [...options, '--rootDir', TYPESCRIPT, program]);
      expect(compiled).toEqual({ status: 0, output: '' });
      const args = [join(TYPESCRIPT, 'settle.js'), service.url];
      await expectSettled(await run(process.execPath, args, {}, { input: await request() }));
    },
    INSTALL_MS,
  );
});
