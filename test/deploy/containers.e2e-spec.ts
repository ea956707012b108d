import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../sandbox/processes.js';
import { provideImage } from './base-images.js';
import { Engine, runProgram, type RunResult } from './engine.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const IMAGE = 'x402-settle:0.1.0';
const SANDBOX_IMAGE = 'x402-sandbox:0.1.0';
const BUILD_PATIENCE_MS = 900_000;
const UP_PATIENCE_MS = 240_000;
const EVERY_PROFILE = ['--profile', 'sandbox', '--profile', 'monitoring', '--profile', 'buy'];

const found = Engine.find();
if ('missing' in found) {
  process.stderr.write(`NOT RUN: image and compose file, because ${found.missing}\n`);
}

/** The image and the compose file as an operator runs them, on a real engine. */
('engine' in found ? describe : describe.skip)('containers', () => {
  const engine = (found as { engine: Engine }).engine;
  const project = `x402-test-${process.pid}`;
  let env: Record<string, string> = {};

  const compose = (args: readonly string[], timeoutMs = UP_PATIENCE_MS): RunResult =>
    runProgram(
      'docker',
      ['compose', '--project-name', project, '--env-file', 'deploy/compose/sandbox.env', ...args],
      { timeoutMs, env },
    );

  function mustCompose(...args: readonly string[]): string {
    const { status, output } = compose(args);
    if (status === 0) return output;
    const logs = compose(['logs', '--tail', '40']).output;
    throw new Error(`compose ${args.join(' ')}\n${output.slice(-4000)}\n${logs.slice(-6000)}`);
  }

  const containerOf = (service: string): string =>
    mustCompose('ps', '--all', '--quiet', service).trim().split('\n')[0] ?? '';

  const inspect = (service: string, format: string): string =>
    engine.mustDocker(['inspect', '--format', format, containerOf(service)]).trim();

  async function eventually(what: string, isTrue: () => boolean): Promise<void> {
    const deadline = Date.now() + 120_000;
    while (!isTrue()) {
      if (Date.now() > deadline) throw new Error(`not in two minutes: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }

  const isHealthy = (): boolean => inspect('facilitator', '{{.State.Health.Status}}') === 'healthy';

  /** One purchase with the stock client in a container of its own. */
  function buy(): void {
    expect(mustCompose('--profile', 'buy', 'run', '--rm', '--no-deps', 'buyer')).toMatch(
      /-> 200[\s\S]*transaction {2}0x[0-9a-f]{64}/,
    );
  }

  beforeAll(async () => {
    const bases = [...readFileSync(`${ROOT}Dockerfile`, 'utf8').matchAll(/^FROM (\S+:\S+)/gm)];
    for (const image of new Set(bases.map(([, name = '']) => name))) provideImage(engine, image);
    provideImage(engine, 'redis:7.4-bookworm');
    const build = ['build', '--network', 'host'];
    engine.mustDocker(
      [...build, '--target', 'sandbox', '--tag', SANDBOX_IMAGE, ROOT],
      BUILD_PATIENCE_MS,
    );
    engine.mustDocker([...build, '--tag', IMAGE, ROOT], BUILD_PATIENCE_MS);
    const [port, rpc, seller] = await Promise.all([freePort(), freePort(), freePort()]);
    env = {
      PUBLISHED_PORT: String(port),
      SANDBOX_RPC_PORT: String(rpc),
      SANDBOX_SELLER_PORT: String(seller),
    };
    mustCompose('--profile', 'sandbox', 'up', '--detach', '--no-build', '--wait');
  }, 2_000_000);

  afterAll(() => {
    compose([...EVERY_PROFILE, 'down', '--volumes', '--timeout', '5']);
    engine.stop();
  }, 120_000);

  it('the image holds no compiler, no test and no key, and runs as nobody in particular', () => {
    const listing = engine.mustDocker([
      'run',
      '--rm',
      '--network',
      'none',
      '--entrypoint',
      'sh',
      IMAGE,
      '-c',
      'id -u; ls; ls node_modules | grep -x -e typescript -e jest -e solc || true',
    ]);
    expect(listing.trim().split('\n')).toEqual([
      '1000',
      'LICENSE',
      'dist',
      'node_modules',
      'package.json',
      'public',
    ]);
  });

  it('a whole shop in containers: a stock buyer pays a stock seller', () => {
    buy();
  });

  it('is killed, comes back by itself, and goes on', async () => {
    engine.mustDocker(['kill', '--signal', 'KILL', containerOf('facilitator')]);
    // A container that was killed by hand is not restarted by the engine; Compose starts it.
    mustCompose('--profile', 'sandbox', 'up', '--detach', '--no-build');
    await eventually('healthy again', isHealthy);
    buy();
  }, 240_000);

  it('drains on stop and ends with 0; with new containers the ledger is as it was', async () => {
    mustCompose('stop', 'facilitator', 'redis');
    expect(inspect('facilitator', '{{.State.ExitCode}}')).toBe('0');
    mustCompose('rm', '--force', 'facilitator', 'redis');
    mustCompose('--profile', 'sandbox', 'up', '--detach', '--no-build');
    await eventually('healthy again', isHealthy);
    buy();
  }, 240_000);

  it('a stop while it still waits for Redis ends it at once, with 0', async () => {
    const name = `${project}-starting`;
    const key = `0x${'11'.repeat(32)}`;
    const settings = ['--env', 'REDIS_URL=redis://127.0.0.1:1', '--env', `SIGNER_KEYS=${key}`];
    engine.mustDocker(['run', '--detach', '--network', 'none', '--name', name, ...settings, IMAGE]);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    const begun = Date.now();
    engine.mustDocker(['stop', '--time', '20', name]);
    const exit = engine.mustDocker(['inspect', '--format', '{{.State.ExitCode}}', name]).trim();
    engine.mustDocker(['rm', '--force', name]);
    expect(Date.now() - begun).toBeLessThan(10_000);
    expect(exit).toBe('0');
  }, 60_000);

  it('says only what it must: published on this machine alone, no key in its environment', () => {
    const ports = inspect('facilitator', '{{json .HostConfig.PortBindings}}');
    expect(JSON.parse(ports)).toEqual({
      '4022/tcp': [{ HostIp: '127.0.0.1', HostPort: env['PUBLISHED_PORT'] }],
    });
    expect(inspect('facilitator', '{{json .Config.Env}}')).not.toMatch(/0x[0-9a-f]{64}/);
  });

  it('is read by Compose with every profile, and needs no key to be listed or taken down', () => {
    const folder = mkdtempSync(join(tmpdir(), 'x402-compose-'));
    try {
      const bare = ['compose', '--project-directory', ROOT, ...EVERY_PROFILE];
      for (const command of [['config', '--quiet'], ['ps'], ['down']]) {
        const { status, output } = runProgram(
          'docker',
          [...bare, '--project-name', `${project}-bare`, ...command],
          { env: { SIGNER_KEYS_PATH: join(folder, 'none') } },
        );
        expect({ command, status, output }).toMatchObject({ status: 0 });
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
