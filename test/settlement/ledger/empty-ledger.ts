import type { Redis } from 'ioredis';
import { ledgerTag } from '../../../src/platform/redis/hash-slot.js';
import { LedgerConnections } from '../../../src/platform/redis/ledger-connections.js';
import { termsOf } from '../../../src/protocol/payment/identity.js';
import { LedgerEpochs } from '../../../src/settlement/ledger/epoch.js';
import {
  laneKey,
  laneLeaseKey,
  listKey,
  recordKey,
  revertsKey,
  signerOf,
} from '../../../src/settlement/ledger/keys.js';
import { LedgerScripts } from '../../../src/settlement/ledger/ledger-scripts.js';
import { readStage } from '../../../src/settlement/ledger/record.js';
import { RedisSettlementStore } from '../../../src/settlement/ledger/redis-settlement-store.js';
import { STATE_OF } from '../../../src/settlement/model/settlement-machine.js';
import type { LaneStoreHarness } from '../../twins/settlement/ledger/lane-store-contract.js';
import { redisLanes } from './redis-lanes.js';

const CHAIN = 56;
const LIMITS = {
  queueMax: 1000,
  retentionSeconds: 3600,
  tombstoneSeconds: 7200,
  saleGraceMs: 60_000,
  unclaimedAfterMs: 60_000,
};

let requesters = 0;

/**
 * A ledger with nothing in it, and what requesters do to it.
 *
 * @param redis - of the server that has it.
 * @param hasOutbox - whether what changes is noted for a history.
 * @param ledger - where that server is one of a Cluster.
 */
export async function emptyLedger(
  redis: Redis,
  hasOutbox = false,
  ledger = new LedgerConnections(redis),
): Promise<LaneStoreHarness> {
  await redis.flushall();
  const epochs = new LedgerEpochs(ledger, hasOutbox);
  await epochs.start([CHAIN]);
  const scripts = new LedgerScripts(ledger, epochs);
  const requests = new RedisSettlementStore(scripts, LIMITS);
  const aRequester = () => {
    requesters += 1;
    return { id: `p.${requesters}`, keyTag: '', credentials: ['somebody'], arrivedAt: Date.now() };
  };
  const claimants = new Map<string, ReturnType<typeof aRequester>>();
  return {
    store: redisLanes(scripts, LIMITS),
    claim: async (payment, { isAsync = false } = {}) => {
      const requester = aRequester();
      const terms = termsOf(payment.chainId, payment.asset, payment.authorization);
      const claimed = await requests.claim(requester, {
        identity: { ...terms, signedTag: 'signed' },
        payment,
        means: { balance: 10n ** 30n, allowance: 10n ** 30n },
        isAccepted: isAsync,
      });
      if (claimed.kind !== 'claimed') throw new Error(claimed.kind);
      claimants.set(claimed.id, requester);
      return claimed.id;
    },
    tell: async (id, resubmissions = 0) => {
      const requester = claimants.get(id) ?? aRequester();
      const { kind } = await requests.redeem({ chainId: CHAIN, id }, requester, 'included');
      if (kind !== 'sold') throw new Error(kind);
      if (resubmissions > 0) await redis.hset(recordKey(CHAIN, id), 'again', resubmissions);
    },
    stateOf: async (id) => {
      const stage = await redis.hget(recordKey(CHAIN, id), 'stage');
      return stage === null ? undefined : STATE_OF[readStage(stage)];
    },
    transactionOf: async (id) => {
      const tx = await redis.hget(recordKey(CHAIN, id), 'tx');
      return tx === null ? undefined : `0x${tx}`;
    },
    switch: async (which, lane) => {
      await redis.hset(listKey(CHAIN, which), signerOf(lane), '{}');
    },
    silence: async (lane, ms) => {
      await redis.hincrby(laneKey(CHAIN, lane), 'renewed', -ms);
      await redis.del(laneLeaseKey(CHAIN, lane));
    },
    blameOf: async (chainId, payer) => {
      const key = revertsKey(chainId, payer);
      return Number((await redis.get(key)) ?? '0');
    },
    spentOn: async (chainId, subject, day) => {
      const name = subject.startsWith(`${chainId}:`) ? `lane:${signerOf(subject)}` : subject;
      return BigInt((await redis.get(`x402:{${ledgerTag(chainId)}}:g:${name}:${day}`)) ?? '0');
    },
  };
}
