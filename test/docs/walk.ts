import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { freePort } from '../../sandbox/processes.js';
import { startService } from '../../sandbox/service.js';
import { post } from '../support/http.js';
import { Inspector } from '../support/inspector.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

/**
 * `npm run docs:walk`: prints which files of `src` one verify and one settle go through. It needs a built
 * service.
 *
 * V8 counts the calls of every function. A function belongs to the walk when it is called about once or
 * more for each request; what runs by the clock (leases, reports, looks at a quiet chain) is measured
 * beside it and taken off. The thread that recovers signers is a program of its own and is not seen.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DIST = pathToFileURL(`${ROOT}dist/`).href;
const REQUESTS = 20;
/** Of the requests, how many have to call a function. */
const MOST = 0.9;
const IDLE_MS = 20_000;

/** Calls of each function a second, by `<file> <offset> <name>`. */
interface Measured {
  readonly calls: ReadonlyMap<string, number>;
  readonly seconds: number;
}

async function measure(inspector: Inspector, work: () => Promise<unknown>): Promise<Measured> {
  await inspector.takeCalls();
  const begun = performance.now();
  await work();
  const seconds = (performance.now() - begun) / 1000;
  const calls = new Map<string, number>();
  for (const { url, name, offset, count } of await inspector.takeCalls()) {
    if (!url.startsWith(DIST)) continue;
    const file = relative(`${ROOT}dist/`, fileURLToPath(url)).replace(/\.js$/, '.ts');
    calls.set(`${file} ${offset} ${name}`, count);
  }
  return { calls, seconds };
}

function filesOf(busy: Measured, idle: Measured): ReadonlyMap<string, ReadonlySet<string>> {
  const files = new Map<string, Set<string>>();
  for (const [key, count] of busy.calls) {
    const byTheClock = ((idle.calls.get(key) ?? 0) / idle.seconds) * busy.seconds;
    if (count - byTheClock < REQUESTS * MOST) continue;
    const [file = '', , name = ''] = key.split(' ');
    const names = files.get(file) ?? new Set();
    files.set(file, name === '' ? names : names.add(name));
  }
  return new Map([...files].sort(([a], [b]) => a.localeCompare(b)));
}

function print(title: string, files: ReadonlyMap<string, ReadonlySet<string>>): void {
  console.log(`\n${title}: ${files.size} files`);
  for (const [file, names] of files) {
    const lines = readFileSync(`${ROOT}src/${file}`, 'utf8').split('\n').length;
    console.log(`  ${file} (${lines} lines): ${[...names].join(' ')}`);
  }
}

const idleFor = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const world = await World.start({ blockTime: 0.5 });
const service = await startService(await freePort(), world.settings(), ['--inspect=127.0.0.1:0']);
try {
  const inspector = await Inspector.of(service.log());
  const payer = await world.payer();
  const body = (): Promise<Body> =>
    eip3009Body({
      payer,
      chainId: world.chainId,
      token: world.usd,
      payTo: newAccount().address,
    });
  const ask = async (path: string, payment: Body): Promise<void> => {
    const { status, body: answer } = await post(`${service.url}/v2/${path}`, payment);
    const isGood = status === 200 && (answer['isValid'] === true || answer['success'] === true);
    if (!isGood) throw new Error(JSON.stringify(answer));
  };
  const askAll = (path: string, payments: readonly Body[]) => async (): Promise<void> => {
    for (const payment of payments) await ask(path, payment);
    // The writes after a block is final belong to the settle too.
    if (path === 'settle') await idleFor(3000);
  };
  const bodies = (): Promise<readonly Body[]> =>
    Promise.all(Array.from({ length: REQUESTS }, body));
  const [forVerify, forSettle] = [await bodies(), await bodies()];
  await inspector.countCalls();
  // This settle warms the caches of code, metadata and domains.
  await askAll('settle', [await body()])();
  const idle = await measure(inspector, () => idleFor(IDLE_MS));
  const verify = await measure(inspector, askAll('verify', forVerify));
  const settle = await measure(inspector, askAll('settle', forSettle));
  print('verify', filesOf(verify, idle));
  print('settle', filesOf(settle, idle));
  inspector.close();
} finally {
  await service.stop('SIGKILL');
  await world.stop();
}
