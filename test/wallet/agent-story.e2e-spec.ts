import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { freePort } from '../../sandbox/processes.js';

const run = promisify(execFile);
const STORY = fileURLToPath(new URL('../../sandbox/agent.ts', import.meta.url));
const PORTS = [
  'PORT',
  'OPS_PORT',
  'SANDBOX_SELLER_PORT',
  'SANDBOX_RPC_PORT',
  'SANDBOX_REDIS_PORT',
  'SANDBOX_POSTGRES_PORT',
  'SANDBOX_FILES_PORT',
  'SANDBOX_FLAKY_PORT',
];

it('npm run agent tells nothing that is not so', async () => {
  const env = { ...process.env };
  for (const name of PORTS) env[name] = String(await freePort());
  const { stdout } = await run(process.execPath, ['--import', 'tsx', STORY], { env });
  expect(stdout).toContain('who comes second is refused');
  expect(stdout).toContain('All of it is true.');
  expect(stdout).not.toMatch(/^ {2}NO /m);
}, 240_000);
