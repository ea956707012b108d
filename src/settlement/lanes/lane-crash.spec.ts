import { describe, expect, it } from '@jest/globals';
import { TestClock } from '../../../test/builders/platform/concurrency/clock.js';
import {
  aPayment,
  CHAIN_ID,
  LANE,
  LaneWorld,
  TestChain,
} from '../../../test/builders/settlement/lanes/lane-world.js';
import { MemoryLaneStore } from '../../../test/twins/settlement/ledger/memory-lane-store.js';
import { RedisUnavailableError } from '../../protocol/errors.js';

/**
 * A process dies at every step that it takes in the ledger: before the step, and after it but before its
 * answer. Whatever the step, the process that takes the lane over brings each payment to its end once.
 */

const IDS = ['a', 'b'] as const;
const LEASE_MS = 600_001;
const ROUNDS = 40;

/** What the chain does in a story, round by round, beside what nodes do with what they are sent. */
type Chain = (village: Village, round: number) => void;

/** The chain, the ledger and the clock that outlive each process. */
class Village {
  readonly clock = new TestClock();
  readonly chain = new TestChain();
  readonly store = new MemoryLaneStore(() => this.clock.now());
  /** Ids that mined transactions carried, each as often as it was carried. */
  readonly carried: string[] = [];
  readonly paid = new Set<string>();
  reverts = 0;
  /** While not: nodes take what is sent, and no block does. */
  isMining = true;
  /** The next transaction reverts as a whole. */
  isNextReverting = false;

  /** Mines what has the next account nonce, if a node was given it. */
  mine(): void {
    const { chain } = this;
    const next = this.store.attemptsOf(LANE).find((one) => one.accountNonce === chain.used);
    const sent = next?.transactions.find(({ raw }) => chain.sent.includes(raw));
    if (!this.isMining || next === undefined || sent === undefined) {
      chain.mine();
      return;
    }
    const ids = sent.isNoop ? [] : next.settlementIds;
    const isSuccess =
      !this.isNextReverting && (sent.isNoop || ids.some((id) => !this.paid.has(id)));
    if (this.isNextReverting) this.reverts += 1;
    this.isNextReverting = false;
    const pays = isSuccess ? ids.filter((id) => !this.paid.has(id)) : [];
    this.carried.push(...ids);
    for (const id of pays) this.paid.add(id);
    chain.mine(sent, { pays, isSuccess });
  }

  get isOver(): boolean {
    const isEnded = IDS.every((id) => this.store.claims.stateOf(id) === 'finalized');
    return isEnded && this.store.attemptsOf(LANE).length === 0;
  }
}

/** Where a process dies. Steps are counted from its start. */
interface Death {
  readonly step: number;
  readonly isAnswerLost: boolean;
}

/** One process that follows a lane; from its death on it changes nothing any more. */
class Mortal {
  readonly steps: string[] = [];
  #isDead = false;

  constructor(
    private readonly village: Village,
    private readonly death: Death | undefined,
  ) {}

  get isDead(): boolean {
    return this.#isDead;
  }

  async live(processId: string, story: Chain): Promise<void> {
    const { village } = this;
    const lane = new LaneWorld(village.clock, this.#chain(), this.#store());
    try {
      await lane.open(processId);
      for (let round = 0; round < ROUNDS && !village.isOver; round += 1) {
        await lane.sending.sendReady(lane.lease, () => true);
        await village.clock.pass(0);
        story(village, round);
        village.mine();
        await lane.follow();
        if (round % 2 === 1) village.chain.finalize();
        await lane.follow();
        await village.clock.pass(600);
      }
    } catch (error) {
      if (!this.#isDead) throw error;
    }
  }

  #store(): MemoryLaneStore {
    const { leases, queue, attempts, endings } = this.village.store;
    const ports = new Map(
      Object.entries({ leases, queue, attempts, endings }).map(([name, port]) => [
        name,
        this.#stepsOf(port),
      ]),
    );
    return new Proxy(this.village.store, {
      get: (store, name) => ports.get(String(name)) ?? (Reflect.get(store, name, store) as unknown),
    });
  }

  #stepsOf(port: object): object {
    return new Proxy(port, {
      get: (_, name) => {
        const value: unknown = Reflect.get(port, name, port);
        if (typeof value !== 'function') return value;
        const method = value.bind(port) as (...args: unknown[]) => unknown;
        // A listener is called; it is no step.
        return name === 'onEpochChange'
          ? method
          : (...args: unknown[]) => this.#take(String(name), () => method(...args));
      },
    });
  }

  async #take(name: string, step: () => unknown): Promise<unknown> {
    const lost = new RedisUnavailableError(name, undefined);
    if (this.#isDead) throw lost;
    this.steps.push(name);
    if (this.steps.length - 1 !== this.death?.step) return step();
    this.#isDead = true;
    if (this.death.isAnswerLost) await step();
    throw lost;
  }

  /** The dead send nothing. */
  #chain(): TestChain {
    return new Proxy(this.village.chain, {
      get: (chain, name) => {
        if (name === 'broadcast' && this.#isDead) return () => Promise.reject(new Error('dead'));
        const value: unknown = Reflect.get(chain, name, chain);
        return typeof value === 'function' ? (value.bind(chain) as unknown) : value;
      },
    });
  }
}

async function aVillage(): Promise<Village> {
  const village = new Village();
  IDS.forEach((id, index) => {
    village.store.claims.claim(id, aPayment(index + 1));
  });
  await village.store.queue.ready(CHAIN_ID, IDS);
  return village;
}

/** The steps of a life that no death ends. */
async function stepsOf(story: Chain): Promise<readonly string[]> {
  const mortal = new Mortal(await aVillage(), undefined);
  await mortal.live('p1', story);
  return mortal.steps;
}

/** What happens to the two payments, and what the chain does. */
const STORIES: readonly (readonly [string, Chain])[] = [
  ['are mined at once', () => undefined],
  [
    'wait until their fee is bumped',
    (village, round) => {
      village.isMining = round >= 12;
    },
  ],
  [
    'revert together, and go alone',
    (village, round) => {
      if (round === 0) village.isNextReverting = true;
    },
  ],
  [
    'are mined in a block that is replaced',
    (village, round) => {
      if (round !== 1) return;
      village.chain.replaceFrom(village.chain.latest);
      village.paid.clear();
      village.carried.length = 0;
    },
  ],
];

const DEATHS = (
  await Promise.all(
    STORIES.map(async ([what, story]) =>
      (await stepsOf(story)).flatMap((name, step) =>
        [false, true].map((isAnswerLost) => ({ what, story, name, step, isAnswerLost })),
      ),
    ),
  )
).flat();

describe('a process that dies', () => {
  it('takes the steps that the rows below name', () => {
    const names = new Set(DEATHS.map(({ name }) => name));
    for (const step of [
      'acquire',
      'take',
      'allocate',
      'replace',
      'include',
      'requeue',
      'finish',
      'closeAttempt',
    ]) {
      expect(names).toContain(step);
    }
  });

  it.each(DEATHS)(
    'at step $step, $name (answer lost: $isAnswerLost), of payments that $what: each is paid once',
    async ({ story, step, isAnswerLost }) => {
      const village = await aVillage();
      const first = new Mortal(village, { step, isAnswerLost });
      await first.live('p1', story);
      expect(first.isDead).toBe(true);
      await village.clock.pass(LEASE_MS);
      village.isMining = true;
      village.isNextReverting = false;
      const heir = new Mortal(village, undefined);
      await heir.live('p2', () => undefined);
      expect(IDS.map((id) => village.store.claims.stateOf(id))).toEqual(['finalized', 'finalized']);
      expect([...village.paid].sort()).toEqual([...IDS]);
      // A settlement that is paid, or may still be, gets no second transaction.
      const times = 1 + village.reverts;
      const carried = IDS.map((id) => village.carried.filter((one) => one === id).length);
      expect(carried).toEqual([times, times]);
      // Nothing is left behind: no attempt, and no nonce that those above it would wait for.
      expect(village.store.attemptsOf(LANE)).toEqual([]);
    },
  );
});
