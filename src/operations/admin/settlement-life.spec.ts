import { describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import { MemoryOperatorArchive } from '../../../test/builders/history/operators/operator-archive.js';
import { codeOf } from '../../../test/builders/platform/http/coded-error.js';
import {
  aSettlementDetails,
  aSettlementView,
} from '../../../test/builders/settlement/model/settlement-view.js';
import { SettlementPasts } from '../../history/operators/settlement-past.js';
import type { ChainRegistry } from '../../platform/chain/chain-registry.js';
import {
  ArchiveUnavailableError,
  ChainUnavailableError,
  RedisUnavailableError,
} from '../../protocol/errors.js';
import { uintWord } from '../../protocol/evm/abi-words.js';
import { CHANNEL_ESCROW } from '../../protocol/evm/contracts.js';
import type { ReceiptLog } from '../../protocol/evm/logs.js';
import { REFUNDED_TOPIC } from '../../protocol/schemes/batch-settlement/escrow.js';
import type { SettlementQueries } from '../../settlement/ledger/queries/settlement-queries.js';
import type { LaneAttemptView } from './dto/admin.response.js';
import { SettlementLives } from './settlement-life.js';

const TOKEN: Hex = `0x${'70'.repeat(20)}`;
const ATTEMPT: LaneAttemptView = {
  lane: '56:0xlane',
  accountNonce: 7,
  kind: 'single',
  settlementIds: ['a'],
  transactions: ['0xab'],
  maxFeePerGasWei: '1',
  ageMs: 5,
};

const CHANNEL: Hex = `0x${'c1'.repeat(32)}`;

/** Of a refund, and of a token that says the same. */
const LOGS: readonly ReceiptLog[] = [CHANNEL_ESCROW, TOKEN].map((address, logIndex) => ({
  address,
  topics: [REFUNDED_TOPIC, CHANNEL, CHANNEL],
  data: `0x${uintWord(200n)}`,
  logIndex,
}));

/** Chains 56 and 97; the ledger of 56 has `a`, and a refund of a channel as `refund`. */
function lives(
  trouble?: Error,
  receipt = () => Promise.resolve({ logs: LOGS }),
  archive?: MemoryOperatorArchive,
): SettlementLives {
  const sale = { state: 'sold', requester: 'p.1', soldKeyTag: '', boundKeyTag: 'tag' } as const;
  const queries: Pick<SettlementQueries, 'byId'> = {
    byId: (chainId, id) => {
      if (chainId === 56 && id === 'a') {
        const view = aSettlementView({ id, sale, settledAmount: 2n ** 200n });
        return Promise.resolve({ isLive: true, view, details: aSettlementDetails({}) });
      }
      if (chainId === 56 && id.startsWith('closed')) {
        const closed = { ...sale, state: 'open' } as const;
        const view = aSettlementView({
          id,
          sale: closed,
          ...(id === 'closed' && { closedAt: 5000 }),
        });
        return Promise.resolve({ isLive: false, view, details: aSettlementDetails({}) });
      }
      if (chainId === 56 && id === 'refund') {
        const view = aSettlementView({ id, sale, transaction: `0x${'a'.repeat(64)}` });
        const named = { scheme: 'batch-settlement', method: 'channel-refund' } as const;
        return Promise.resolve({ isLive: true, view, details: aSettlementDetails(named) });
      }
      return trouble === undefined ? Promise.resolve(undefined) : Promise.reject(trouble);
    },
  };
  return new SettlementLives(
    {
      all: [{ chainId: 97 }, { chainId: 56 }],
      get: () => ({ withView: (use: (view: object) => unknown) => use({ receipt }) }),
    } as unknown as ChainRegistry,
    queries,
    {
      attemptsOf: (chainId, id) => Promise.resolve(chainId === 56 && id === 'a' ? [ATTEMPT] : []),
    },
    new SettlementPasts(archive, { now: () => 0 }),
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

  it('says that an operator closed it, by the ledger, or by the audit once it has left the ledger', async () => {
    expect(await lives().of('a')).not.toHaveProperty('closed');
    expect((await lives().of('closed'))?.closed).toEqual({ at: '1970-01-01T00:00:05.000Z' });
    const archive = new MemoryOperatorArchive();
    const audit = {
      chainId: 56,
      at: new Date('2099-01-01'),
      by: 'night-shift',
      action: 'unclaimed_closed',
    };
    archive.audit.push({ id: '1', subject: 'another', ...audit });
    const life = () => lives(undefined, undefined, archive).of('closed-long-ago');
    expect(await life()).not.toHaveProperty('closed');
    archive.audit.push({ id: '2', subject: 'closed-long-ago', ...audit });
    expect((await life())?.closed).toEqual({ at: '2099-01-01T00:00:00.000Z', by: 'night-shift' });
  });

  it('has the events of its transaction, of an action of channels', async () => {
    expect((await lives().of('a'))?.channels).toBeUndefined();
    expect(await lives().of('refund')).toMatchObject({
      settlement: { payment: { scheme: 'batch-settlement', action: 'refund' } },
      channels: [{ event: 'Refunded', channelId: CHANNEL, amount: '200' }],
    });
    const away = () => Promise.reject(new ChainUnavailableError(56, 'receipt'));
    expect(await lives(undefined, away).of('refund')).not.toHaveProperty('channels');
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
