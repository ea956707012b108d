import { describe, expect, it } from '@jest/globals';
import type { AcknowledgedSale } from '../../settlement/ledger/settlement-store.js';
import { RecentAnswers } from './recent-answers.js';

const aSale = (id: string, requester = 'p.1'): AcknowledgedSale => ({
  ref: { chainId: 56, id },
  authorizationId: id,
  requester: { id: requester, keyTag: '', credentials: [], arrivedAt: 0 },
  isAccepted: false,
});

describe('sales that a ledger which went back has forgotten', () => {
  it('are replayed also for claims that it gets later, and no longer than the grace lasts', async () => {
    const known = new Set(['kept']);
    const replayed: string[] = [];
    let waits = 0;
    const sales = new RecentAnswers<AcknowledgedSale>(
      ({ ref: { id } }) => {
        replayed.push(id);
        return Promise.resolve(known.has(id));
      },
      () => undefined,
      () => 0,
      () => {
        waits += 1;
        // The lane that follows it has stored it again.
        if (waits === 2) known.add('restored');
        return Promise.resolve();
      },
    );
    for (const id of ['kept', 'restored', 'lost', 'taken-back']) sales.note(aSale(id));
    sales.withdrawn(aSale('taken-back'));
    await sales.replay(56);
    const times = (id: string): number => replayed.filter((one) => one === id).length;
    expect([times('kept'), times('restored'), times('taken-back')]).toEqual([1, 3, 0]);
    expect(times('lost')).toBeGreaterThan(3);
    expect(waits).toBeLessThanOrEqual(30);
  });

  it('are not repeated once they were taken back, also between two tries', async () => {
    const replayed: string[] = [];
    const sales: RecentAnswers<AcknowledgedSale> = new RecentAnswers<AcknowledgedSale>(
      ({ ref: { id } }) => {
        replayed.push(id);
        return Promise.resolve(false);
      },
      () => undefined,
      () => 0,
      () => {
        sales.withdrawn(aSale('lost'));
        return Promise.resolve();
      },
    );
    sales.note(aSale('lost'));
    await sales.replay(56);
    expect(replayed).toEqual(['lost']);
  });

  it('are repeated for each requester of one key whose answer arrived', async () => {
    const replayed: string[] = [];
    const sales = new RecentAnswers<AcknowledgedSale>(
      ({ ref, requester }) => {
        replayed.push(`${ref.id} ${requester.id}`);
        return Promise.resolve(true);
      },
      () => undefined,
      () => 0,
    );
    for (const requester of ['p.1', 'p.2', 'p.3']) sales.note(aSale('a', requester));
    sales.withdrawn(aSale('a', 'p.2'));
    await sales.replay(56);
    expect(replayed).toEqual(['a p.1', 'a p.3']);
  });

  it('of one payment do not push out those of others, however often its key comes back', async () => {
    const replayed: string[] = [];
    const sales = new RecentAnswers<AcknowledgedSale>(
      ({ ref, requester }) => {
        replayed.push(`${ref.id} ${requester.id}`);
        return Promise.resolve(true);
      },
      () => undefined,
      () => 0,
    );
    sales.note(aSale('a', 'p.1'));
    for (let count = 0; count < 10_001; count += 1) sales.note(aSale('b', `p.${count}`));
    await sales.replay(56);
    expect(replayed).toEqual(expect.arrayContaining(['a p.1', 'b p.0', 'b p.10000']));
    expect(replayed.length).toBeLessThanOrEqual(10);
  });

  it('are replayed after an outage of any length, and forgotten two minutes after the ledger showed itself', async () => {
    let now = 0;
    const replayed: string[] = [];
    const sales = new RecentAnswers<AcknowledgedSale>(
      ({ ref: { id } }) => {
        replayed.push(id);
        return Promise.resolve(true);
      },
      () => undefined,
      () => now,
    );
    sales.note(aSale('before'));
    sales.heard(56, (now = 60_000));
    now = 3_600_000;
    sales.note(aSale('after'));
    await sales.replay(56);
    expect(replayed).toEqual(['before', 'after']);
    sales.heard(56, 120_001);
    await sales.replay(56);
    expect(replayed).toEqual(['before', 'after', 'after']);
  });

  it('do not count as replayed before the ledger has stored each of them', async () => {
    let isAway = true;
    const steps: string[] = [];
    const sales = new RecentAnswers<AcknowledgedSale>(
      ({ ref: { id } }) => {
        steps.push(id);
        return isAway ? Promise.reject(new Error('away')) : Promise.resolve(false);
      },
      () => undefined,
      () => 0,
      () => {
        isAway = steps.length < 40;
        return Promise.resolve();
      },
    );
    sales.note(aSale('a'));
    await sales.replay(56, () => steps.push('said'));
    // However often it could not be reached; then it goes on with what the ledger may learn of later.
    expect(steps.indexOf('said')).toBe(41);
    expect(steps.filter((step) => step === 'said')).toEqual(['said']);
  });

  it('are all replayed when the ledger goes back once more', async () => {
    let begun = 0;
    let go = (): void => undefined;
    const sales = new RecentAnswers<AcknowledgedSale>(
      () => {
        begun += 1;
        return Promise.resolve(begun > 1);
      },
      () => undefined,
      () => 0,
      () => new Promise((resolve) => (go = resolve)),
    );
    sales.note(aSale('a'));
    const first = sales.replay(56);
    await Promise.resolve();
    await sales.replay(56);
    go();
    await first;
    expect(begun).toBe(2);
  });

  it('are said once where the ledger goes back several times at one moment', async () => {
    let replayed = 0;
    const sales = new RecentAnswers<AcknowledgedSale>(
      async () => {
        replayed += 1;
        await Promise.resolve();
        return true;
      },
      () => undefined,
      () => 0,
    );
    for (let id = 0; id < 1000; id += 1) sales.note(aSale(String(id)));
    await Promise.all(Array.from({ length: 16 }, () => sales.replay(56)));
    // Of the rounds that were overtaken no more than what was under way already.
    expect(replayed).toBeGreaterThanOrEqual(1000);
    expect(replayed).toBeLessThanOrEqual(1000 + 15 * 100);
  });
});
