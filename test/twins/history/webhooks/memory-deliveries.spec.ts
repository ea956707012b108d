import { CHALLENGE_EVENT } from '../../../../src/history/webhooks/webhook.js';
import { describeDeliveries, MOVED_URL } from './deliveries-contract.js';
import { MemoryDeliveries } from './memory-deliveries.js';

describeDeliveries('deliveries in memory', () => {
  let [now, sequence] = [1_795_334_400_000, 0];
  const store = new MemoryDeliveries(
    {
      id: 'we_one',
      owner: 'shop',
      url: 'https://shop.example/hook',
      description: '',
      payees: [],
      events: ['settlement.included'],
      secretNames: ['one'],
      createdAt: new Date(0),
      confirmedAt: new Date(0),
      failingSince: undefined,
      disabled: undefined,
    },
    () => now,
  );
  return Promise.resolve({
    store,
    id: 'we_one',
    add: (line) => {
      sequence += 1;
      store.add(sequence, line);
      return Promise.resolve(String(sequence));
    },
    move: () => {
      sequence += 1;
      store.webhook = { ...store.webhook, url: MOVED_URL, confirmedAt: undefined };
      store.add(sequence, 'challenge', { type: CHALLENGE_EVENT, payTo: undefined });
      return Promise.resolve(String(sequence));
    },
    webhook: () => Promise.resolve(store.webhook),
    pass: (ms) => {
      now += ms;
      return Promise.resolve();
    },
    failingForMs: () =>
      Promise.resolve(store.failingSince === undefined ? undefined : now - store.failingSince),
    close: () => Promise.resolve(),
  });
});
