import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { freePort } from '../../sandbox/processes.js';
import { SERVICE_MAIN, startService } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { newAccount } from '../support/payments.js';
import { TEST_SEED } from '../support/seed.js';
import { SeededRandom } from '../support/seeded-random.js';
import { World } from '../support/world.js';
import { WalletWorld } from '../wallet/wallet-world.js';

const ENDS_BY_ITSELF = fileURLToPath(new URL('../support/ends-by-itself.mjs', import.meta.url));
const ROLES = ['api', 'worker', 'hub', 'wallet', 'history', 'all'] as const;
/** Of each, while it starts and when it has. */
const MOMENTS = 2;
const STARTING_MS = 2500;
const RUNNING_MS = 1000;
/** Clients that ask without a pause meanwhile. */
const CLIENTS = 4;

type Heard = 'answered' | 'broken off' | 'not taken';

/** What waits for a process to accept it when it stops listening is reset: that was not taken. */
function ask(url: string): Promise<Heard> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false }, (response) => {
      response.resume();
      response.once('close', () => {
        resolve(response.complete ? 'answered' : 'broken off');
      });
    });
    request.once('error', () => {
      resolve('not taken');
    });
  });
}

/** Asks until a request is not answered. */
async function heardUntilTheEnd(url: string): Promise<readonly Heard[]> {
  const heard: Heard[] = [];
  do heard.push(await ask(url));
  while (heard.at(-1) === 'answered');
  return heard;
}

describe(`SIGTERM at any moment, seed ${TEST_SEED}`, () => {
  const dir = mkdtempSync(join(tmpdir(), 'x402-sigterm-'));
  const keys = join(dir, 'keys.json');
  const random = new SeededRandom(TEST_SEED);
  let world: World;
  let postgres: SandboxPostgres;

  beforeAll(async () => {
    const { record } = createApiKey('operator', ['history', 'admin']);
    writeFileSync(keys, JSON.stringify({ version: 1, keys: [record] }));
    [world, postgres] = await Promise.all([World.start(), startPostgres()]);
  }, 60_000);
  afterAll(async () => {
    await world.stop();
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const settings = (role: (typeof ROLES)[number]): Record<string, string> => ({
    ...world.settings(),
    ...((role === 'wallet' || role === 'all') && WalletWorld.settingsOf(world, dir)),
    ROLES: role,
    DATABASE_URL: postgres.url,
    API_KEYS_FILE: keys,
    WEBHOOK_KEY: 'a key of this test, of no value at all',
    RECONCILE_AT: '03:30',
    HUB_DATA_DIR: join(dir, 'hub'),
    HUB_ADDRESS: newAccount().address,
    ...(role !== 'worker' && role !== 'all' && { SIGNER_KEYS: '' }),
  });

  it.each(ROLES)(
    'a process with the role %s ends with 0 while it starts',
    async (role) => {
      for (let moment = 0; moment < MOMENTS; moment += 1) {
        const child = spawn(process.execPath, [SERVICE_MAIN], {
          env: {
            PATH: process.env['PATH'],
            HOST: '127.0.0.1',
            PORT: String(await freePort()),
            ...settings(role),
          },
        });
        let output = '';
        const note = (piece: Buffer): void => {
          output += piece.toString();
        };
        child.stdout.on('data', note);
        child.stderr.on('data', note);
        const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
        const afterMs = random.between(300, STARTING_MS);
        await pause(afterMs);
        child.kill('SIGTERM');
        const code = await ended;
        // A signal that comes before the first line of the program ends it by itself.
        if (code !== null || output !== '') {
          expect([afterMs, output, code]).toEqual([afterMs, output, 0]);
        }
        expect(output).not.toContain('a shutdown step failed');
      }
    },
    60_000,
  );

  it.each(ROLES)(
    'a process with the role %s ends with 0 under load, breaks off no answer and leaves nothing open',
    async (role) => {
      for (let moment = 0; moment < MOMENTS; moment += 1) {
        const service = await startService(await freePort(), settings(role), [
          '--import',
          ENDS_BY_ITSELF,
        ]);
        const ended = new Promise<number | null>((resolve) => service.child.once('exit', resolve));
        const clients = Array.from({ length: CLIENTS }, () =>
          heardUntilTheEnd(`${service.url}/health`),
        );
        await pause(random.between(0, RUNNING_MS));
        service.child.kill('SIGTERM');
        const code = await ended;
        const heard = (await Promise.all(clients)).flat();
        expect(heard).toContain('answered');
        expect(heard).not.toContain('broken off');
        expect(service.log()).not.toMatch(/kept by .*/);
        expect(code).toBe(0);
        expect(service.log()).toContain('"drained"');
        expect(service.log()).not.toContain('a shutdown step failed');
      }
    },
    120_000,
  );
});
