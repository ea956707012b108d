import { describe, expect, it } from '@jest/globals';
import { codeOf } from '../../../test/builders/platform/http/coded-error.js';
import {
  aSettlementDetails,
  aSettlementView,
} from '../../../test/builders/settlement/model/settlement-view.js';
import { SettlementPasts } from '../../history/operators/settlement-past.js';
import type { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { ArchiveUnavailableError, RedisUnavailableError } from '../../protocol/errors.js';
import type { SettlementQueries } from '../../settlement/ledger/queries/settlement-queries.js';
import type { LaneAttemptView } from './dto/admin.response.js';
import { SettlementLives } from './settlement-life.js';

const ATTEMPT: LaneAttemptView = {
  lane: '56:0xlane',
  accountNonce: 7,
  kind: 'single',
  settlementIds: ['a'],
  transactions: ['0xab'],
  maxFeePerGasWei: '1',
  ageMs: 5,
};

/** Chains 56 and 97; the ledger of 56 has `a`. */
function lives(trouble?: Error): SettlementLives {
  const sale = { state: 'sold', requester: 'p.1', soldKeyTag: '', boundKeyTag: 'tag' } as const;
  const queries: Pick<SettlementQueries, 'byId'> = {
    byId: (chainId, id) => {
      if (chainId === 56 && id === 'a') {
        const view = aSettlementView({ id, sale, settledAmount: 2n ** 200n });
        return Promise.resolve({ isLive: true, view, details: aSettlementDetails({}) });
      }
      return trouble === undefined ? Promise.resolve(undefined) : Promise.reject(trouble);
    },
  };
  return new SettlementLives(
    { all: [{ chainId: 97 }, { chainId: 56 }] } as unknown as ChainRegistry,
    queries,
    {
      attemptsOf: (chainId, id) => Promise.resolve(chainId === 56 && id === 'a' ? [ATTEMPT] : []),
    },
    new SettlementPasts(undefined, { now: () => 0 }),
  );
}

describe('the life of a settlement', () => {
  it('has its sale, what carries it, and no key', async () => {
    const life = await lives().of('a');
    expect(life).toMatchObject({
      network: 'eip155:56',
      attempts: [ATTEMPT],
      history: { status: 'off' },
      sale: { state: 'sold', requester: 'p.1', isBoundToKey: true, isSoldToKey: false },
      settlement: { payment: { settledAmount: (2n ** 200n).toString() } },
    });
    expect(JSON.stringify(life)).not.toContain('tag');
  });

  it('is shown while the archive, which another chain needs, is away', async () => {
    const away = lives(new ArchiveUnavailableError('id'));
    expect((await away.of('a'))?.settlement.settlementId).toBe('a');
    expect(await codeOf(away.of('b'))).toEqual([503, 'history_unavailable']);
  });

  it('does not exist for an unknown id', async () => {
    expect(await lives().of('b')).toBeUndefined();
    const away = new RedisUnavailableError('byId', undefined);
    await expect(lives(away).of('b')).rejects.toBe(away);
  });
});
