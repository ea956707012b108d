import { aRecorded, idOf } from '../../builders/history/recorded-settlement.js';
import { describeCooled, describeOutbox } from './leaving-contract.js';
import { MemoryCooled } from './memory-cooled.js';
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

describeCooled('settlements in memory', () => {
  const cooled = new MemoryCooled();
  let count = 0;
  return Promise.resolve({
    cooled,
    at: { chainId: CHAIN_ID, epoch: cooled.epoch },
    end: () => {
      const name = `s${(count += 1)}`;
      cooled.put(idOf(name), aRecorded(name, 'finalized'));
      return Promise.resolve(idOf(name));
    },
    change: (id) => {
      const { settlement } = cooled.held.get(id) ?? {};
      cooled.put(id, settlement && { ...settlement, isPinned: true });
      return Promise.resolve();
    },
    isHeld: (id) => Promise.resolve(cooled.held.has(id)),
    fallBehind: () => {
      cooled.isBehind = true;
      return Promise.resolve();
    },
  });
});
