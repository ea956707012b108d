import { describe, expect, it } from '@jest/globals';
import type { Binding, BoundPayment } from '../../settlement/ledger/binding.js';
import type { Requester } from '../../settlement/ledger/requester.js';
import {
  BINDING_ABANDONED_MS,
  type BindResult,
  type SettlementStore,
} from '../../settlement/ledger/settlement-store.js';
import { DeferredSteps } from './deferred-steps.js';
import { KeyBinding, type KeyResult } from './key-binding.js';

const PAYMENT: BoundPayment = { chainId: 56, authorizationId: 'mine', termsTag: 't' };
const OTHER: Binding = {
  chainId: 97,
  authorizationId: 'theirs',
  termsTag: 't',
  requester: 'p.9',
  at: 1,
  value: 'stored',
};

interface World {
  readonly keyTag?: string;
  readonly bound?: BindResult;
  /** Whether the ledger holds a claim of the payment it is bound to. */
  readonly isClaimed?: boolean;
  /** Whether the archive holds one that has left the ledger. */
  readonly archived?: 'yes' | 'no' | 'away';
  /** Whether another requester was faster. */
  readonly isTaken?: boolean;
}

function aKey({
  keyTag = 'k',
  bound = { kind: 'bound' },
  isClaimed,
  archived = 'no',
  isTaken,
}: World = {}) {
  const steps: string[] = [];
  const store: Pick<SettlementStore, 'bind' | 'takeOver' | 'unbind' | 'hasClaim'> = {
    bind: () => {
      steps.push('bind');
      return Promise.resolve(bound);
    },
    hasClaim: (chainId, id) => {
      steps.push(`claim of ${id} on ${chainId}?`);
      return Promise.resolve(isClaimed === true);
    },
    takeOver: (_requester, _payment, from) => {
      steps.push(`take over ${from.value}`);
      return Promise.resolve(isTaken !== true);
    },
    unbind: () => {
      steps.push('unbind');
      return Promise.resolve();
    },
  };
  const requester: Requester = { id: 'p.1', keyTag, credentials: [], arrivedAt: 0 };
  const archive = {
    hasClaim: ({ chainId, authorizationId: id }: Pick<Binding, 'chainId' | 'authorizationId'>) => {
      steps.push(`archive: claim of ${id} on ${chainId}?`);
      return Promise.resolve(archived);
    },
  };
  const owed = new DeferredSteps({ warn: () => undefined });
  return { key: new KeyBinding(store, archive, owed, requester, PAYMENT), steps };
}

const ASKS = 'claim of theirs on 97?';
const ASKS_ARCHIVE = `archive: ${ASKS}`;
const ABANDONED: BindResult = { kind: 'other', binding: OTHER, ageMs: BINDING_ABANDONED_MS };

describe('an idempotency key', () => {
  it.each<[string, World, KeyResult, readonly string[]]>([
    ['that is empty binds nothing', { keyTag: '' }, 'bound', []],
    ['that is free is bound', {}, 'bound', ['bind', 'unbind']],
    [
      'of another payment a moment ago is a conflict, which asks nothing more',
      { bound: { kind: 'other', binding: OTHER, ageMs: BINDING_ABANDONED_MS - 1 } },
      'conflict',
      ['bind'],
    ],
    [
      'of another payment that was claimed is a conflict, however old it is',
      { bound: ABANDONED, isClaimed: true },
      'conflict',
      ['bind', ASKS],
    ],
    [
      'of another payment that has left the ledger for the archive is a conflict',
      { bound: ABANDONED, archived: 'yes' },
      'conflict',
      ['bind', ASKS, ASKS_ARCHIVE],
    ],
    [
      'of another payment that the ledger does not know is neither bound nor refused while the archive is away',
      { bound: ABANDONED, archived: 'away' },
      'unknown',
      ['bind', ASKS, ASKS_ARCHIVE],
    ],
    [
      'of another payment that came to nothing is taken over',
      { bound: ABANDONED },
      'bound',
      ['bind', ASKS, ASKS_ARCHIVE, 'take over stored', 'unbind'],
    ],
    [
      'that another request takes over first is a conflict',
      { bound: ABANDONED, isTaken: true },
      'conflict',
      ['bind', ASKS, ASKS_ARCHIVE, 'take over stored'],
    ],
  ])('%s', async (_, world, expected, steps) => {
    const { key, steps: seen } = aKey(world);
    expect(await key.bind()).toBe(expected);
    // Given up twice, and only what was bound.
    await key.unbind();
    await key.unbind();
    expect(seen).toEqual(steps);
  });

  it.each<[string, Partial<Binding>, boolean]>([
    ['this payment', PAYMENT, true],
    ['the same authorization on another chain', { ...PAYMENT, chainId: 97 }, false],
    ['other terms of the authorization', { ...PAYMENT, termsTag: 'u' }, false],
    ['another authorization', { ...PAYMENT, authorizationId: 'x' }, false],
  ])('that is bound to %s', (_, binding, isOfThis) => {
    const { key } = aKey();
    const read = { ...OTHER, ...binding };
    expect(key.isOfAnother(read)).toBe(!isOfThis);
  });

  it('that is bound to nothing is of no payment', () => {
    const { key } = aKey();
    expect(key.isOfAnother(undefined)).toBe(false);
  });
});
