import { existsSync } from 'node:fs';
import { delay, within } from '../client.js';
import { describeMoment, type Moment } from '../fleet.js';
import type { Role } from '../slot.js';
import { type Fault, MOMENT_TIMEOUT_MS } from './fault.js';

/** A process dies at one moment. It may not be reached; then nothing happens. */
export const killAt = (moment: Moment): Fault => ({
  kind: 'killed at a step',
  name: `killed ${describeMoment(moment)}`,
  run: async ({ fleet }) => {
    await within(MOMENT_TIMEOUT_MS, fleet.killAt(moment));
    fleet.disarm();
  },
});

export const killAnyTime: Fault = {
  kind: 'killed at any time',
  name: 'killed at any time',
  run: async ({ fleet }, random) => {
    await delay(random.between(0, 1800));
    random.pick(fleet.slots).kill(random.between(0, 1500));
  },
};

export const freeze = (ms: number, role: Role): Fault => ({
  kind: `${role} frozen`,
  name: `${role} frozen for ${ms} ms`,
  run: async ({ fleet }, random) => {
    await delay(random.between(0, 700));
    const slot = random.pick(fleet.of(role));
    slot.freeze();
    await delay(ms);
    slot.thaw();
  },
});

/** As in a rolling deploy: a new worker starts, an old one gets a stop signal. */
export const rollingDeploy: Fault = {
  kind: 'a worker is replaced by another',
  name: 'a worker is replaced by another',
  run: async ({ fleet }, random) => {
    await delay(random.between(0, 400));
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

/** One worker and one api disagree with the others. */
export const skewedClocks: Fault = {
  kind: 'clocks 40 s off',
  name: 'clocks 40 s off',
  run: async ({ fleet }, random) => {
    const library = fakeTimeLibrary();
    const skewed = [random.pick(fleet.of('worker')), random.pick(fleet.of('api'))];
    const sign = random.pick(['+', '-']);
    await Promise.all(
      skewed.map((slot) =>
        slot.restart({
          LD_PRELOAD: library,
          FAKETIME: `${sign}40s`,
          FAKETIME_DONT_FAKE_MONOTONIC: '1',
        }),
      ),
    );
    await delay(1500);
    await Promise.all(skewed.map((slot) => slot.restart()));
  },
};

/** Half of the signers lose their keys, and their transactions are on their way. */
export const keyRemoved: Fault = {
  kind: 'a key is taken out',
  name: 'a key is taken out',
  areLanesTaken: true,
  run: async ({ fleet, pool, signerKeys }, random) => {
    await within(MOMENT_TIMEOUT_MS, pool.any());
    await delay(random.between(0, 200));
    const half = signerKeys.length / 2;
    const kept = random.chance(0.5) ? signerKeys.slice(0, half) : signerKeys.slice(half);
    const keys = kept.join(',');
    await Promise.all(fleet.of('worker').map((slot) => slot.change({ SIGNER_KEYS: keys })));
  },
  undo: async ({ fleet }) => {
    await Promise.all(fleet.of('worker').map((slot) => slot.change({})));
  },
};

/** No process serves the network for a while, as after a wrong deploy. */
export const networkRemoved: Fault = {
  kind: 'a network is taken out',
  name: 'a network is taken out',
  areRequestsForgotten: true,
  meaningless: ['invalid_network', 'unsupported_network'],
  run: async ({ fleet, pool, stray }, random) => {
    await within(MOMENT_TIMEOUT_MS, pool.any());
    const everybody = random.chance(0.5);
    const slots = everybody ? fleet.slots : fleet.of('worker');
    const other = {
      NETWORKS: `eip155:${stray.chainId}`,
      [`RPC_URLS_${stray.chainId}`]: stray.url,
      BATCH_SAFE_ASSETS: '',
    };
    await Promise.all(slots.map((slot) => slot.change(other)));
    await delay(random.between(0, 1500));
    await Promise.all(slots.map((slot) => slot.change({})));
  },
};
