import { aRecorded, idOf } from '../../builders/history/recorded-settlement.js';
import { describeEvictable, describeOutbox } from './eviction-contract.js';
import { MemoryEvictable } from './memory-evictable.js';
import { MemoryOutbox } from './memory-outbox.js';

const CHAIN_ID = 56;

describeOutbox('an outbox in memory', () => {
  const outbox = new MemoryOutbox();
  const names = new Map<string, string>();
  return Promise.resolve({
    outbox,
    chainId: CHAIN_ID,
    broadcast: () => {
      const name = `s${names.size}`;
      names.set(idOf(name), name);
      outbox.change(idOf(name), aRecorded(name, 'broadcast'));
      return Promise.resolve(idOf(name));
    },
    include: (id) => {
      outbox.change(id, aRecorded(names.get(id) ?? '', 'included'));
      return Promise.resolve();
    },
    lose: (id) => {
      outbox.records.delete(id);
      return Promise.resolve();
    },
    goBack: () => {
      outbox.goBack('second');
      return Promise.resolve();
    },
  });
});

describeEvictable('settlements in memory', () => {
  const evictable = new MemoryEvictable();
  let count = 0;
  return Promise.resolve({
    evictable,
    at: { chainId: CHAIN_ID, epoch: evictable.epoch },
    end: () => {
      const name = `s${(count += 1)}`;
      evictable.put(idOf(name), aRecorded(name, 'finalized'));
      return Promise.resolve(idOf(name));
    },
    change: (id) => {
      const { settlement } = evictable.held.get(id) ?? {};
      evictable.put(id, settlement && { ...settlement, isPinned: true });
      return Promise.resolve();
    },
    isHeld: (id) => Promise.resolve(evictable.held.has(id)),
    fallBehind: () => {
      evictable.isBehind = true;
      return Promise.resolve();
    },
  });
});
