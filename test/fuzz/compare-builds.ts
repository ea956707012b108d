import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { privateKeyToAccount } from 'viem/accounts';
import { startPostgres } from '../../sandbox/postgres.js';
import { BUILT_MAIN, type Service } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { get } from '../support/http.js';
import { type Body, eip3009Body, type Json, permit2Body, v1Body } from '../support/payments.js';
import { TEST_SEED } from '../support/seed.js';
import { SeededRandom } from '../support/seeded-random.js';
import { World } from '../support/world.js';
import { type Api, type GeneratedRequest, RequestMaker } from './requests.js';
import { type Answered, Sender } from './sender.js';
import { ValueMaker } from './values.js';

/*
 * Sends the same generated bodies to two builds, each with a chain, a Redis and a PostgreSQL of its own, and lists
 * every answer whose status or reason differs. It exits with 1 when a build answered with 5xx.
 *
 *   node --import tsx test/fuzz/compare-builds.ts OTHER/dist/main.js [COUNT]
 */

const DOORS =
  /^\/(v[12]\/)?(verify|settle|accepts)$|^\/(v2\/(webhooks|doctor)|discovery\/(validate|statements))$/;
const PAYMENT_DOORS = /\/(verify|settle)$/;
const CHAIN_ID = 97;

const [otherMain, count = '3000'] = process.argv.slice(2);
if (otherMain === undefined) throw new Error('Name the main.js of the other build.');

const random = new SeededRandom(TEST_SEED);
const key = createApiKey('all', ['verify', 'settle', 'history', 'admin'], []);
const payer = privateKeyToAccount(`0x${random.hex(32).slice(2)}`);
const payTo = privateKeyToAccount(`0x${random.hex(32).slice(2)}`).address;

interface Side {
  readonly world: World;
  readonly service: Service;
  readonly sender: Sender;
  stop(): Promise<void>;
}

async function start(main: string): Promise<Side> {
  const [world, postgres] = await Promise.all([
    World.start({ blockTime: 0.3, chainId: CHAIN_ID }),
    startPostgres(),
  ]);
  const keys = join(mkdtempSync(join(tmpdir(), 'x402-compare-')), 'keys.json');
  writeFileSync(keys, JSON.stringify({ version: 1, keys: [key.record] }));
  const settings = {
    ROLES: 'api,worker,history',
    DATABASE_URL: postgres.url,
    API_KEYS_FILE: keys,
    WEBHOOK_KEY: 'a key of this test, of no value at all',
    DOCTOR: 'true',
    RATE_LIMIT_DOCTOR: '10000',
    SETTLE_WAIT_MS: '5000',
  };
  const service = await world.service(settings, undefined, main);
  await world.fund(payer.address, 10n ** 24n);
  const sender = new Sender(service.url, 1);
  const stop = async (): Promise<void> => {
    sender.close();
    await Promise.all([world.stop(), postgres.stop()]);
  };
  return { world, service, sender, stop };
}

/** Status, verdict, reason and code: what a program goes by. */
function verdictOf({ status, text }: Answered, codes: 'with code' | 'without code'): string {
  const names = ['isValid', 'success', 'invalidReason', 'errorReason', 'reason'];
  if (codes === 'with code') names.push('code');
  const body = bodyOf(text);
  const parts = names.map((name) => body[name]).filter((value) => value !== undefined);
  return [status, ...parts.map((part) => JSON.stringify(part))].join(' ');
}

function bodyOf(text: string): Json {
  try {
    return (JSON.parse(text) ?? {}) as Json;
  } catch {
    return {};
  }
}

function shown({ method, path, headers, body }: GeneratedRequest): string {
  const sent = body?.toString('utf8').slice(0, 400) ?? 'no body';
  return `${method} ${path.slice(0, 200)} ${JSON.stringify(headers).slice(0, 200)}\n      ${sent}`;
}

/** Answers with 5xx. A feature that is off answers 501. */
let failed = 0;
const sides = await Promise.all([start(BUILT_MAIN), start(otherMain)]);
try {
  const [own, other] = sides;
  if (own.world.usd !== other.world.usd) throw new Error('The two chains have other tokens.');
  const { body: api } = await get(`${own.service.url}/openapi.json`);
  const doors = Object.entries((api as unknown as Api).paths).flatMap(([path, { post }]) =>
    DOORS.test(path) && post !== undefined ? [[path, { post }] as const] : [],
  );
  const options = { payer, chainId: CHAIN_ID, payTo };
  const payments: Body[] = [
    await eip3009Body({ ...options, token: own.world.usd }),
    await permit2Body({ ...options, token: own.world.coin }),
    await v1Body({ ...options, token: own.world.usd, network: 'bsc-testnet' }),
  ];
  const described = { ...(api as unknown as Api), paths: Object.fromEntries(doors) };
  const maker = new RequestMaker(described, random, [key.key], payments);
  const values = new ValueMaker({}, random);
  /** Most bodies of payments are good ones with a few places spoiled: the others end at the first look. */
  const next = (): GeneratedRequest => {
    const asked = maker.next();
    if (asked.method !== 'post' || !PAYMENT_DOORS.test(asked.template)) return asked;
    const headers = { ...asked.headers, 'x-api-key': key.key };
    if (random.chance(0.2)) return { ...asked, headers };
    const spoiled = values.spoil(random.pick(payments), random.below(3) + 1);
    const body = Buffer.from(JSON.stringify(spoiled));
    return { ...asked, headers: { 'x-api-key': key.key }, body };
  };
  const differences = new Map<string, { times: number; first: string }>();
  const verdicts = new Map<string, number>();
  let codeInOne = 0;
  for (let sent = 0; sent < Number(count); sent += 1) {
    const asked = next();
    const answers = await Promise.all([own.sender.send(asked), other.sender.send(asked)]);
    // Answers that have a code in one build alone are compared without it.
    const coded = answers.filter(({ text }) => bodyOf(text)['code'] !== undefined).length;
    if (coded === 1) codeInOne += 1;
    const [now, before] = answers.map((one) =>
      verdictOf(one, coded === 2 ? 'with code' : 'without code'),
    );
    failed += answers.filter(({ status }) => status >= 500 && status !== 501).length;
    verdicts.set(now ?? '', (verdicts.get(now ?? '') ?? 0) + 1);
    if (now === before) continue;
    const door = asked.template.replace(/^\/v[12](?=\/[a-z]+)/, '');
    const name = `${asked.method} ${door}: ${before ?? ''} -> ${now ?? ''}`;
    const known = differences.get(name);
    const texts = answers.map(({ text }) => text.slice(0, 400));
    const first = `${shown(asked)}\n      now    ${texts[0] ?? ''}\n      before ${texts[1] ?? ''}`;
    differences.set(name, { first, ...known, times: (known?.times ?? 0) + 1 });
  }
  console.log(
    `${count} bodies, seed ${TEST_SEED}; ${failed} answers with 5xx; ${codeInOne} have a code in one build alone`,
  );
  for (const [verdict, times] of [...verdicts].sort(([, a], [, b]) => b - a)) {
    console.log(`${String(times).padStart(6)} ${verdict}`);
  }
  console.log(`${differences.size} differences`);
  for (const [name, { times, first }] of [...differences].sort()) {
    console.log(`  ${name} (${times})\n      ${first}`);
  }
} finally {
  await Promise.all(sides.map((side) => side.stop()));
}
process.exit(failed > 0 ? 1 : 0);
