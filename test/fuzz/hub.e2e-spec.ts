import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { fuzz } from '../support/hub-fuzz.js';
import { HubWorld } from '../support/hub-world.js';
import { Inspector } from '../support/inspector.js';
import { TEST_SEED } from '../support/seed.js';

/** `npm run test:fuzz` runs a third of what it is asked for here; this many are part of `npm test`. */
const COUNT = Number(process.env['FUZZ_COUNT'] ?? 450);
const MODES = [
  { name: 'public', settings: {} },
  { name: 'private', settings: { HUB_MODE: 'private', HUB_AUTH: 'compatible' } },
  { name: 'legacy', settings: { HUB_LEGACY_STATUS: 'true', RATE_LIMIT_HUB: '100000' } },
] as const;
const WARM_UP = 150;
const MIB = 2 ** 20;
/** Of the heap: code that ran for the first time, and files kept open. */
const GROWTH_ALLOWED = 16 * MIB;
/** Every other request waits as long. */
const STALL_ALLOWED_MS = 200;

jest.setTimeout(120_000 + COUNT * 60);

describe(`${COUNT} requests to the hub, seed ${TEST_SEED}`, () => {
  let world: HubWorld;

  beforeAll(async () => {
    world = await HubWorld.start();
  });
  afterAll(() => world.stop());

  it.each(MODES)('are answered, $name, without a 5xx, a leak or a stall', async (mode) => {
    const settings = { ...mode.settings, HUB_PUBLIC_URL: 'https://files.example/api' };
    const hub = await world.hub(settings, ['--inspect=127.0.0.1:0']);
    const inspector = await Inspector.of(hub.service.log());
    await fuzz(hub, TEST_SEED + 1, WARM_UP);
    const before = await inspector.usedHeap();
    await inspector.watchLoop();
    const { byStatus, failures } = await fuzz(hub, TEST_SEED, Math.ceil(COUNT / MODES.length));
    const stall = await inspector.longestStall();
    const after = await inspector.usedHeap();
    inspector.close();
    console.log(
      `${mode.name}, seed ${TEST_SEED}; answers by status: ${JSON.stringify(byStatus)}; ` +
        `heap ${(before / MIB).toFixed(1)} MiB before, ${(after / MIB).toFixed(1)} MiB after; ` +
        `longest stall ${stall.ownMs.toFixed(0)} ms (${stall.wallMs.toFixed(0)} ms with the waits for a core)`,
    );
    // 599 stands for what is 4xx elsewhere, where the original's statuses are asked for.
    const isLegacy = mode.name === 'legacy';
    expect(failures.filter((failure) => !(isLegacy && failure.startsWith('599')))).toEqual([]);
    expect(stall.ownMs).toBeLessThan(STALL_ALLOWED_MS);
    expect(after - before).toBeLessThan(GROWTH_ALLOWED);
    // The run reached what it was meant to reach.
    expect(Object.keys(byStatus).length).toBeGreaterThan(3);
    expect(hub.service.log()).not.toMatch(/"level":(?:50|60)/);
    expect((await hub.get('/health/ready')).status).toBe(200);
    await hub.service.stop();
  });
});
