import { describe, expect, it } from '@jest/globals';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { Presence } from './presence.js';

const CHAIN_ID = 56;

function aWorld() {
  const spoken: boolean[] = [];
  const heard: number[] = [];
  /** After how many heartbeats it departed. */
  const departed: number[] = [];
  const says: (() => void)[] = [];
  const trouble: unknown[] = [];
  let goBack: (chainId: number) => void = () => undefined;
  const world = {
    isAway: false,
    now: 0,
    /** What the store learns before it departs. */
    onDepart: (): void => undefined,
  };
  const presence = new Presence(
    {
      heartbeat: (_chainId, _processId, hasReplayed) => {
        if (world.isAway) return Promise.reject(new RedisUnavailableError('heartbeat', 'away'));
        spoken.push(hasReplayed());
        return Promise.resolve();
      },
      depart: (_chainId, _processId, hasReplayed) => {
        if (world.isAway) return Promise.reject(new RedisUnavailableError('depart', 'away'));
        world.onDepart();
        if (hasReplayed()) departed.push(spoken.length);
        return Promise.resolve();
      },
      onEpochChange: (listener) => {
        goBack = listener;
        return () => undefined;
      },
    },
    'p',
    [0, 1].map(() => ({
      replay: (_chainId: number, onReplayed: () => void = () => undefined) => {
        says.push(onReplayed);
        return Promise.resolve();
      },
      heard: (_chainId: number, at: number) => heard.push(at),
    })),
    (error) => trouble.push(error),
    () => world.now,
  );
  return {
    world,
    presence,
    spoken,
    heard,
    departed,
    says,
    trouble,
    goBack: () => {
      goBack(CHAIN_ID);
    },
  };
}

describe('a process that tells requesters what became of their payments', () => {
  it('shows a ledger that it lives before it tells anything', async () => {
    const { presence, spoken } = aWorld();
    await presence.start([CHAIN_ID]);
    presence.stop();
    expect(spoken).toEqual([true]);
  });

  it('is awaited by a ledger that went back until all its answers were replayed', async () => {
    const { presence, spoken, says, goBack } = aWorld();
    goBack();
    await presence.heartbeat(CHAIN_ID);
    says[0]?.();
    await presence.heartbeat(CHAIN_ID);
    expect(spoken).toEqual([false, false]);
    says[1]?.();
    expect(spoken).toEqual([false, false, true]);
  });

  it('is awaited again when the ledger goes back once more meanwhile', async () => {
    const { presence, spoken, says, goBack } = aWorld();
    goBack();
    goBack();
    says[0]?.();
    says[1]?.();
    await presence.heartbeat(CHAIN_ID);
    expect(spoken).toEqual([false]);
    says[2]?.();
    says[3]?.();
    expect(spoken).toEqual([false, true]);
  });

  it('departs as its last act, and shows itself no more', async () => {
    const { presence, spoken, departed, trouble } = aWorld();
    await presence.start([CHAIN_ID]);
    const under = presence.heartbeat(CHAIN_ID);
    await presence.depart();
    await under;
    await presence.heartbeat(CHAIN_ID);
    expect([spoken.length, departed, trouble]).toEqual([2, [2], []]);
  });

  it('stays where it ends before its answers are replayed, or while Redis is away', async () => {
    const { presence, world, departed, says, goBack, trouble } = aWorld();
    await presence.start([CHAIN_ID]);
    goBack();
    says[0]?.();
    await presence.depart();
    says[1]?.();
    world.isAway = true;
    await presence.depart();
    expect([departed, trouble]).toEqual([[], []]);
  });

  it('stays where it learns only while it departs that the ledger went back', async () => {
    const { presence, world, departed, goBack, trouble } = aWorld();
    await presence.start([CHAIN_ID]);
    world.onDepart = goBack;
    await presence.depart();
    expect([departed, trouble]).toEqual([[], []]);
  });

  it('forgets nothing of what it told while the ledger is away or was not told of it again', async () => {
    const { world, presence, heard, says, trouble, goBack } = aWorld();
    world.now = 1;
    await presence.heartbeat(CHAIN_ID);
    world.isAway = true;
    world.now = 2;
    await presence.heartbeat(CHAIN_ID);
    world.isAway = false;
    goBack();
    world.now = 3;
    await presence.heartbeat(CHAIN_ID);
    expect(heard).toEqual([1, 1]);
    for (const say of says) say();
    expect(trouble).toEqual([]);
  });
});
