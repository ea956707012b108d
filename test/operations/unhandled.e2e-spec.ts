import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../sandbox/processes.js';
import { startService } from '../../sandbox/service.js';
import { eventually, get, post } from '../support/http.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

const SECRET = 'a-live-authorization-of-a-payer';

/**
 * Loaded before the service: at SIGUSR2 it does what a forgotten `await` would, as ioredis fails. Its text
 * is part of the stack, so the secret comes another way.
 */
function faultAtSignal(fault: string): string {
  const code = `process.on('SIGUSR2', () => {
    const error = Object.assign(new Error('Command timed out'), {
      command: { name: 'evalsha', args: [process.env.TEST_SECRET] },
    });
    ${fault}
  });`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

describe('a fault that nobody handles', () => {
  let world: World;

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.5 });
  });
  afterAll(() => world.stop());

  it.each([
    ['a rejection', 'void Promise.reject(error);'],
    ['an exception', 'setImmediate(() => { throw error; });'],
    ['many at once', 'for (let i = 0; i < 500; i += 1) void Promise.reject(error);'],
  ])(
    'is logged without arguments; the requests are answered and the process ends with 1: %s',
    async (_what, fault) => {
      const service = await startService(
        await freePort(),
        world.settings({ TEST_SECRET: SECRET }),
        [faultAtSignal(fault)],
      );
      try {
        const payer = await world.payer();
        const options = { payer, chainId: world.chainId, payTo: newAccount().address };
        const body = await eip3009Body({ ...options, token: world.usd });
        await eventually('settling', async () => {
          const { status } = await get(`${service.url}/health`);
          return status === 200;
        });
        const settled = post(`${service.url}/v2/settle`, body);
        await new Promise((resolve) => setTimeout(resolve, 100));
        service.child.kill('SIGUSR2');
        expect((await settled).body).toMatchObject({ success: true });
        await eventually('the process has ended', () => service.child.exitCode !== null, 30_000);
        expect(service.child.exitCode).toBe(1);
        const log = service.log();
        expect(log).not.toContain(SECRET);
        expect(log).toContain('Command timed out');
        expect(log).toContain('"command":"evalsha"');
        expect(log.split('Command timed out').length).toBeLessThan(60);
      } finally {
        await service.stop('SIGKILL');
      }
    },
  );
});
