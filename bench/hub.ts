import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { freePort, type Started, startProgram } from '../sandbox/processes.js';
import { startRedis } from '../sandbox/redis.js';
import { startService } from '../sandbox/service.js';

/**
 * The hub on disk beside a plain Express server, in the same run and on the same disk: small uploads that
 * are synced before they are answered, small downloads, and files of 64 MiB with the memory they take.
 *
 *   npm run bench:hub [requests per round]
 */
const REQUESTS = Number(process.argv[2] ?? 6000);
const ROUNDS = 3;
const CONCURRENCY = 64;
const OWNERS = 10;
const MESSAGE = 'x'.repeat(1024);
const LONG_BYTES = 64 * 1_048_576 - 1024;
const PLAIN = fileURLToPath(new URL('./support/plain-file-server.ts', import.meta.url));

interface Ask {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
}

interface Round {
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p99: number;
}

/** A closed loop: the next request is sent when one is answered. Any other status than 200 ends the run. */
async function round(url: string, ask: (index: number) => Ask, count = REQUESTS): Promise<Round> {
  const pool = new Pool(url, { connections: CONCURRENCY });
  const latencies: number[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const { method, path, body } = ask(index);
      const begun = performance.now();
      const headers = { 'content-type': 'application/json' };
      const answer = await pool.request({ method, path, headers, body: body ?? null });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text.slice(0, 200)}`);
      latencies.push(performance.now() - begun);
    }
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
  const seconds = (performance.now() - begun) / 1000;
  await pool.close();
  latencies.sort((a, b) => a - b);
  return { perSecond: count / seconds, p99: latencies[Math.floor(count * 0.99)] ?? 0 };
}

let run = 0;
const upload =
  (name: string) =>
  (index: number): Ask => ({
    method: 'POST',
    path: '/api/upload',
    body: JSON.stringify({
      owner: `owner${index % OWNERS}`,
      id: `${name}-${index}`,
      message: MESSAGE,
    }),
  });
const download =
  (name: string, path = '/api/download') =>
  (index: number): Ask => ({
    method: 'GET',
    path: `${path}?owner=owner${index % OWNERS}&name=${name}-${index}`,
  });

function median(rounds: readonly Round[]): Round {
  const middle = [...rounds].sort((a, b) => a.perSecond - b.perSecond)[
    Math.floor(rounds.length / 2)
  ];
  if (middle === undefined) throw new Error('no rounds');
  return middle;
}

function report(what: string, ours: readonly Round[], plain: readonly Round[]): void {
  const [a, b] = [median(ours), median(plain)];
  const cells = [
    what.padEnd(34),
    `${a.perSecond.toFixed(0).padStart(6)}/s  p99 ${a.p99.toFixed(1).padStart(6)} ms`,
    `${b.perSecond.toFixed(0).padStart(6)}/s  p99 ${b.p99.toFixed(1).padStart(6)} ms`,
    `${(a.perSecond / b.perSecond).toFixed(2)}x`,
  ];
  console.log(`  ${cells.join('   ')}`);
}

/** Resident memory of a process, MiB. */
function residentMiB(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) / 1024;
}

/** How far memory rises above where it was, while something is done. */
async function growthMiB(pid: number, work: () => Promise<void>): Promise<number> {
  const before = residentMiB(pid);
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, residentMiB(pid));
  }, 5);
  await work();
  clearInterval(timer);
  return peak - before;
}

async function sendFile(url: string, name: string, bytes: number): Promise<void> {
  const boundary = 'bench';
  const chunk = randomBytes(65_536);
  const field = (one: string): string => `Content-Disposition: form-data; name="${one}"`;
  async function* form(): AsyncGenerator<Buffer> {
    yield Buffer.from(`--${boundary}\r\n${field('owner')}\r\n\r\nlong\r\n`);
    yield Buffer.from(`--${boundary}\r\n${field('file')}; filename="${name}"\r\n\r\n`);
    for (let left = bytes; left > 0; left -= chunk.length) {
      yield await Promise.resolve(chunk.subarray(0, Math.min(chunk.length, left)));
    }
    yield Buffer.from(`\r\n--${boundary}--\r\n`);
  }
  const response = await fetch(`${url}/api/uploadData`, {
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: form(),
    duplex: 'half',
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
}

async function fetchLong(url: string, name: string): Promise<void> {
  const response = await fetch(`${url}/api/download?owner=long&name=${name}`);
  let size = 0;
  for await (const piece of response.body ?? []) size += (piece as Uint8Array).length;
  if (size !== LONG_BYTES) throw new Error(`${size} bytes came back`);
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'x402-bench-hub-'));
  const [hubDir, plainDir] = [join(folder, 'hub'), mkdtempSync(join(folder, 'plain-'))];
  const redis = await startRedis(await freePort());
  const hub = await startService(await freePort(), {
    ROLES: 'hub',
    REDIS_URL: redis.url,
    HUB_DATA_DIR: hubDir,
    LOG_LEVEL: 'warn',
    // One busy address, which stores more than strangers may.
    RATE_LIMIT_HUB: '0',
    HUB_QUOTA_BYTES: '0',
    HUB_MAX_OBJECTS: '0',
  });
  const plainPort = await freePort();
  const plain: Started = await startProgram(
    process.execPath,
    ['--import', 'tsx', PLAIN, String(plainPort), plainDir],
    (output) => output.includes('listening'),
  );
  const plainUrl = `http://127.0.0.1:${plainPort}`;
  try {
    console.log(
      `\n  concurrency ${CONCURRENCY}, 1 KiB, ${OWNERS} owners, ${REQUESTS} requests a round, ` +
        `median of ${ROUNDS} rounds taken in turns\n`,
    );
    console.log(`  ${''.padEnd(34)}   ${'hub (fs)'.padEnd(23)}   ${'plain Express'.padEnd(23)}`);
    const name = (): string => `r${run++}`;
    const results = { up: [[], []], down: [[], []], send: [] } as {
      readonly up: [Round[], Round[]];
      readonly down: [Round[], Round[]];
      readonly send: Round[];
    };
    // The first requests of a process are slow, and are not counted.
    for (const url of [hub.url, plainUrl]) await round(url, upload(name()), 2000);
    for (let index = 0; index < ROUNDS; index += 1) {
      const files = name();
      results.up[0].push(await round(hub.url, upload(files)));
      results.up[1].push(await round(plainUrl, upload(files)));
      results.down[0].push(await round(hub.url, download(files)));
      results.down[1].push(await round(plainUrl, download(files)));
      results.send.push(await round(plainUrl, download(files, '/api/send-file')));
    }
    report('uploads, durable', ...results.up);
    report('downloads (plain: a stream)', ...results.down);
    report('downloads (plain: sendFile)', results.down[0], results.send);

    const pid = hub.child.pid ?? 0;
    // What the code of forms takes, whatever their length, is there before.
    await sendFile(hub.url, 'short', 100_000);
    console.log(`\n  files of 64 MiB, memory of the hub's process above where it was\n`);
    for (let index = 0; index < ROUNDS; index += 1) {
      const file = `long${index}`;
      const up = await growthMiB(pid, () => sendFile(hub.url, file, LONG_BYTES));
      const down = await growthMiB(pid, () => fetchLong(hub.url, file));
      console.log(
        `  upload ${up.toFixed(1).padStart(6)} MiB   download ${down.toFixed(1).padStart(6)} MiB`,
      );
    }
  } finally {
    await Promise.all([hub.stop(), plain.stop('SIGKILL')]);
    await redis.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
