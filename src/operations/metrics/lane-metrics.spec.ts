import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import type { LaneObserver } from '../../settlement/lanes/lane-observer.js';
import type { Attempt, SignedTransaction } from '../../settlement/model/attempt.js';
import { ErrorMetrics } from './error-metrics.js';
import { LaneMetrics } from './lane-metrics.js';

const SIGNER = '0x00000000000000000000000000000000000000aa';
const LANE = `56:${SIGNER}`;
const LABELS = `network="eip155:56",lane="${SIGNER}"`;

const anAttempt = (settlementIds: readonly string[]): Attempt => ({
  accountNonce: 7,
  kind: settlementIds.length > 1 ? 'batch' : 'single',
  settlementIds,
  transactions: [],
  allocatedAtBlock: 1n,
});

/** The scrape after some calls of the observer. */
async function scrapeAfter(
  tell: (observer: LaneObserver) => void,
  waitsMs: readonly number[] = [],
): Promise<string[]> {
  const registry = new Registry();
  tell(
    new LaneMetrics(
      registry,
      { waitsMs: () => Promise.resolve(waitsMs) },
      { error: () => undefined },
      new ErrorMetrics(registry),
    ),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return (await registry.metrics()).split('\n');
}

describe('lane metrics', () => {
  it('shows every counter of a lane from the moment it is opened', async () => {
    const lines = await scrapeAfter((observer) => {
      observer.opened(LANE, { nextNonce: 0, inFlight: 0 });
    });
    expect(lines).toContain(`x402_lane_openings_total{${LABELS}} 1`);
    for (const name of ['attempt_bumps', 'attempt_reorgs', 'lane_foreign_nonces']) {
      expect(lines).toContain(`x402_${name}_total{${LABELS}} 0`);
    }
  });

  it('times what a key service signs, and counts what it does not by reason', async () => {
    const lines = await scrapeAfter((observer) => {
      observer.signed(LANE, 60);
      observer.notSigned(LANE, 'throttled', 'ThrottlingException');
    });
    expect(lines).toContain('x402_signer_seconds_bucket{le="0.05",network="eip155:56"} 0');
    expect(lines).toContain('x402_signer_seconds_bucket{le="0.1",network="eip155:56"} 1');
    expect(lines).toContain(`x402_signer_failures_total{${LABELS},reason="throttled"} 1`);
  });

  it('measures the size of a batch and how long each of its settlements waited', async () => {
    const lines = await scrapeAfter(
      (observer) => {
        observer.sent(LANE, anAttempt(['a', 'b', 'c']));
      },
      [20, 30, 40],
    );
    expect(lines).toContain(`x402_attempts_total{${LABELS},kind="batch"} 1`);
    expect(lines).toContain('x402_attempt_settlements_sum{network="eip155:56"} 3');
    expect(lines).toContain('x402_settlement_queue_wait_seconds_count{network="eip155:56"} 3');
    expect(lines).toContain(
      'x402_settlement_queue_wait_seconds_bucket{le="0.025",network="eip155:56"} 1',
    );
  });

  it('counts a gap filler as an attempt, and as no batch', async () => {
    const lines = await scrapeAfter((observer) => {
      observer.sent(LANE, { ...anAttempt([]), kind: 'noop' });
    });
    expect(lines).toContain(`x402_attempts_total{${LABELS},kind="noop"} 1`);
    expect(lines.filter((line) => line.startsWith('x402_attempt_settlements_'))).toEqual([]);
  });

  it('counts what payers are sent once it is mined, and as no batch', async () => {
    const [payer, hash] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(32)}`] as const;
    const coins = 'x402_lane_funded_coins_total';
    const funded = (isSuccess: boolean): Promise<string[]> =>
      scrapeAfter((observer) => {
        const attempt: Attempt = {
          ...anAttempt([]),
          kind: 'fund',
          funding: { payer, payerNonce: 0, valueWei: 7n * 10n ** 13n, settlementId: 'a' },
          transactions: [{ hash, isNoop: false } as SignedTransaction],
        };
        const inclusion = { transaction: hash, isSuccess, credited: new Map() };
        observer.sent(LANE, attempt);
        const gas = { gasUsed: 0n, effectiveGasPrice: 0n };
        observer.included(LANE, attempt, { ...inclusion, ...gas } as never, 1, new Map());
      });
    const lines = await funded(true);
    expect(lines).toContain(`x402_attempts_total{${LABELS},kind="fund"} 1`);
    expect(lines).toContain(`${coins}{${LABELS}} 0.00007`);
    expect(lines.filter((line) => line.startsWith('x402_attempt_settlements_'))).toEqual([]);
    expect(await funded(false)).not.toContain(`${coins}{${LABELS}} 0.00007`);
  });

  it('shares gas and fee among the settlements a transaction paid', async () => {
    const lines = await scrapeAfter((observer) => {
      const inclusion = {
        transaction: '0x1',
        blockNumber: 2n,
        blockHash: '0x2',
        isSuccess: true,
        gasUsed: 120_000n,
        effectiveGasPrice: 1_000_000_000n,
        credited: new Map([
          ['a', 0],
          ['b', 1],
        ]),
      } as const;
      const authorization = { scheme: 'batch-settlement', method: 'channel-claim' };
      const payments = new Map([['b', { authorization } as unknown as AcceptedPayment]]);
      observer.included(LANE, anAttempt(['a', 'b']), inclusion, 600, payments);
    });
    expect(lines).toContain('x402_attempt_inclusion_seconds_sum{network="eip155:56"} 0.6');
    for (const action of ['', 'claim']) {
      const labels = `network="eip155:56",action="${action}"`;
      expect(lines).toContain(`x402_settlement_gas_sum{${labels}} 60000`);
      expect(lines).toContain(`x402_settlement_gas_bucket{le="60000",${labels}} 1`);
      expect(lines).toContain(`x402_settlement_fee_coins_sum{${labels}} 0.00006`);
    }
    expect(lines).toContain(`x402_lane_fee_coins_total{${LABELS}} 0.00012`);
  });

  it('counts the end of each settlement, and measures finality of what was seen included', async () => {
    const attempt = anAttempt(['a', 'b']);
    const lines = await scrapeAfter((observer) => {
      const inclusion = { gasUsed: 0n, effectiveGasPrice: 0n, credited: new Map() };
      observer.included(LANE, attempt, inclusion as never, 1, new Map());
      observer.ended(LANE, attempt, [
        { id: 'a', state: 'finalized', isPaid: true },
        { id: 'b', state: 'expired', isPaid: false, reason: 'permit2_deadline_expired' },
      ]);
    });
    const ended = 'x402_settlements_total{network="eip155:56"';
    expect(lines).toContain(`${ended},state="finalized",paid="true",reason=""} 1`);
    expect(lines).toContain(
      `${ended},state="expired",paid="false",reason="permit2_deadline_expired"} 1`,
    );
    expect(lines).toContain('x402_attempt_finality_seconds_count{network="eip155:56"} 1');
  });

  it('counts failures, those of the connection to the queue apart', async () => {
    const lines = await scrapeAfter((observer) => {
      observer.failed('56', 'queue', new Error('away'));
      observer.failed(LANE, 'run', new Error('odd'));
    });
    expect(lines).toContain('x402_internal_errors_total{place="queue"} 1');
    expect(lines).toContain('x402_internal_errors_total{place="lane"} 1');
    expect(lines).toContain('x402_internal_errors_total{place="http"} 0');
  });
});
