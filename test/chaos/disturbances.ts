import { existsSync } from 'node:fs';
import type { Dice } from '../support/dice.js';
import { delay, LAG_MOST_BLOCKS } from './episode.js';
import type { Moment } from './fleet.js';
import type { RpcFault } from './rpc-proxy.js';
import type { Stage } from './stage.js';
import type { Expectations } from './truth.js';

/** Something that goes wrong while payments are on their way. */
export interface Disturbance {
  readonly name: string;
  readonly expectations?: Partial<Expectations>;
  run(stage: Stage, dice: Dice): Promise<void>;
}

/** The steps of a settlement, in the order it takes them. */
export const MOMENTS: readonly Moment[] = [
  { when: 'after', step: 'claim' },
  { when: 'before', step: 'enqueue' },
  { when: 'after', step: 'enqueue' },
  { when: 'after', step: 'ready' },
  { when: 'after', step: 'take' },
  { when: 'before', step: 'allocate' },
  { when: 'after', step: 'allocate' },
  { when: 'before', step: 'eth_sendRawTransaction' },
  { when: 'after', step: 'eth_sendRawTransaction' },
  { when: 'before', step: 'eth_getTransactionReceipt' },
  { when: 'before', step: 'include' },
  { when: 'after', step: 'include' },
  { when: 'before', step: 'sell' },
  { when: 'after', step: 'sell' },
  { when: 'before', step: 'finish' },
  { when: 'after', step: 'finish' },
  { when: 'before', step: 'closeAttempt' },
];

/** A process dies at one moment. It may not be reached; then nothing happens. */
export const killAt = (moment: Moment): Disturbance => ({
  name: `killed ${moment.when} ${moment.step}`,
  run: async ({ fleet }) => {
    await Promise.race([fleet.killAt(moment), delay(6000)]);
    fleet.disarm();
  },
});

export const killAnyTime: Disturbance = {
  name: 'killed at any time',
  run: async ({ fleet }, dice) => {
    await delay(dice.between(0, 1800));
    dice.pick(fleet.slots).kill(dice.between(0, 3000));
  },
};

export const freeze = (ms: number, role: 'api' | 'worker'): Disturbance => ({
  name: `${role} frozen for ${ms} ms`,
  run: async ({ fleet }, dice) => {
    await delay(dice.between(0, 700));
    const slot = dice.pick(fleet.of(role));
    slot.freeze();
    await delay(ms);
    slot.thaw();
  },
});

export const crashRedis: Disturbance = {
  name: 'Redis killed and restarted',
  run: async ({ world }, dice) => {
    await delay(dice.between(0, 1200));
    await world.crashRedis(dice.between(0, 1500));
  },
};

export const loseRedis: Disturbance = {
  name: 'Redis lost whole',
  expectations: { isLedgerWhole: false },
  run: async ({ redis }, dice) => {
    await delay(dice.between(100, 1200));
    await redis.flushall();
  },
};

export const rpcFault = (fault: RpcFault, isEverywhere: boolean): Disturbance => ({
  name: `${isEverywhere ? 'every endpoint' : 'an endpoint'} ${fault.kind}`,
  run: async ({ fleet }, dice) => {
    await delay(dice.between(0, 500));
    const chosen = dice.between(0, 1);
    for (const { rpcs } of fleet.slots) {
      rpcs.forEach((rpc, index) => {
        if (isEverywhere || index === chosen) rpc.fault = fault;
      });
    }
    await delay(dice.between(1500, 5000));
  },
});

/** The newest block is replaced by one without its transactions; finality is two blocks deep. */
export const reorg: Disturbance = {
  name: 'a block is replaced',
  expectations: { hasReorgs: true },
  run: async ({ blocks }, dice) => {
    await delay(dice.between(0, 1200));
    await blocks.replaceNext(dice.between(0, 250));
  },
};

export const loseLease: Disturbance = {
  name: 'leases lost mid-send',
  run: async ({ redis, world, signers }, dice) => {
    for (let count = dice.between(1, 4); count > 0; count -= 1) {
      await delay(dice.between(50, 500));
      const signer = dice.pick(signers).toLowerCase();
      await redis.del(`x402:l:${world.chainId}:${signer}:lease`);
    }
  },
};

/** As in a rolling deploy: a new worker comes, an old one is told to go. */
export const rollingDeploy: Disturbance = {
  name: 'a worker is replaced by another',
  run: async ({ fleet }, dice) => {
    await delay(dice.between(0, 400));
    const [old] = fleet.of('worker');
    if (old === undefined) throw new Error('no worker');
    await fleet.add(`${old.name}'`, 'worker');
    await old.drain();
    await fleet.remove(old);
  },
};

/** Where Debian's package `faketime` has its library. */
function fakeTimeLibrary(): string {
  const triples = ['x86_64-linux-gnu', 'aarch64-linux-gnu'];
  const found = triples
    .map((triple) => `/usr/lib/${triple}/faketime/libfaketime.so.1`)
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error('The package faketime is missing (apt-get install it).');
  return found;
}

/** The two workers disagree with each other and with everybody else; the first api with the second. */
export const skewedClocks: Disturbance = {
  name: 'clocks 40 s off',
  run: async ({ fleet }) => {
    const library = fakeTimeLibrary();
    const [ahead, behind] = fleet.of('worker');
    const offsets = [[ahead, '+40s'] as const, [behind, '-40s'] as const];
    const api = [fleet.of('api')[0], '+20s'] as const;
    for (const [slot, offset] of [...offsets, api]) {
      await slot?.restart({
        LD_PRELOAD: library,
        FAKETIME: offset,
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      });
    }
    await delay(5000);
    for (const [slot] of [...offsets, api]) {
      await slot?.restart();
    }
  },
};

const FAULTS: readonly RpcFault[] = [
  { kind: 'silent_after_send' },
  { kind: 'drops' },
  { kind: 'lags', blocks: 1 },
  { kind: 'lags', blocks: 2 },
  { kind: 'lags', blocks: LAG_MOST_BLOCKS },
  { kind: 'wrong_chain' },
  { kind: 'rate_limited' },
  { kind: 'errors' },
  { kind: 'forgets' },
];

/** One to three of everything. */
export function anyOf(dice: Dice): readonly Disturbance[] {
  const makers: readonly (() => Disturbance)[] = [
    () => killAt(dice.pick(MOMENTS)),
    () => killAt(dice.pick(MOMENTS)),
    () => killAnyTime,
    () => freeze(dice.between(2000, 7000), dice.pick(['api', 'worker'])),
    () => crashRedis,
    () => rpcFault(dice.pick(FAULTS), dice.chance(0.4)),
    () => rpcFault(dice.pick(FAULTS), dice.chance(0.4)),
    () => reorg,
    () => loseLease,
    () => rollingDeploy,
    () => skewedClocks,
  ];
  if (dice.chance(0.06)) return [loseRedis];
  const chosen = [dice.pick(makers)()];
  for (let more = dice.between(0, 2); more > 0; more -= 1) {
    const next = dice.pick(makers)();
    // Two deploys or two crashes of Redis at once would only disturb each other.
    if (chosen.every(({ name }) => name !== next.name)) chosen.push(next);
  }
  return chosen;
}
