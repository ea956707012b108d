import { Inject, Injectable } from '@nestjs/common';
import { type Attributes, context, SpanStatusCode, trace } from '@opentelemetry/api';
import { PinoLogger } from 'nestjs-pino';
import { contextOf, traceparentOf, tracer } from '../../platform/tracing/tracer.js';
import { caip2Of } from '../../protocol/payment/network.js';
import {
  type EndedSettlement,
  SettlementQueries,
} from '../../settlement/ledger/queries/settlement-queries.js';
import type { SettlementDetails } from '../../settlement/model/settlement.js';
import type { JobObserver } from '../../settlement/queue/job-observer.js';

/** Settlements that are read at once; if more end together, their traces are left out. */
const READ_AT_ONCE = 64;

/** The spans between the times of a record, in order. */
const PHASES = [
  ['wait for a lane', 'claimed', 'allocated'],
  ['wait for a block', 'allocated', 'included'],
  ['wait for finality', 'included', 'finished'],
] as const;

/**
 * Spans of settlements, in the trace of the request that claimed them. They are built when a settlement is finished,
 * from the times in its record, however many processes took part.
 */
@Injectable()
export class SettlementSpans implements JobObserver {
  #reading = 0;

  constructor(
    @Inject(SettlementQueries) private readonly queries: Pick<SettlementQueries, 'byId'>,
    private readonly logger: PinoLogger,
  ) {}

  traceOfRequest(): string | undefined {
    return trace.getActiveSpan()?.isRecording() === true
      ? traceparentOf(context.active())
      : undefined;
  }

  finished(chainId: number, settlementId: string, traceparent: string): void {
    if (this.#reading >= READ_AT_ONCE) return;
    this.#reading += 1;
    this.#write(chainId, settlementId, traceparent)
      .catch((error: unknown) => {
        this.logger.warn({ err: error }, 'could not export the trace of a settlement');
      })
      .finally(() => {
        this.#reading -= 1;
      });
  }

  async #write(chainId: number, settlementId: string, traceparent: string): Promise<void> {
    const settlement = await this.queries.byId(chainId, settlementId);
    if (settlement === undefined || settlement.isLive || settlement.details === undefined) return;
    const { view, details } = settlement;
    const { claimed, finished } = details.times;
    if (claimed === undefined || finished === undefined) return;
    const parent = contextOf(traceparent);
    const span = tracer().startSpan(
      'settlement',
      { startTime: claimed, attributes: attributesOf(view, details) },
      parent,
    );
    if (!view.isPaid) span.setStatus({ code: SpanStatusCode.ERROR, message: view.reason ?? '' });
    const own = trace.setSpan(parent, span);
    for (const [name, from, to] of PHASES) {
      const [startTime, endTime] = [details.times[from], details.times[to]];
      if (startTime === undefined || endTime === undefined) continue;
      tracer().startSpan(name, { startTime }, own).end(Math.max(startTime, endTime));
    }
    span.end(Math.max(claimed, finished));
  }
}

/** The public attributes of a span: neither payer nor payee. */
function attributesOf(view: EndedSettlement['view'], details: SettlementDetails): Attributes {
  const { id, state, reason, transaction, blockNumber, batchSize } = view;
  return {
    'x402.settlement.id': id,
    'x402.network': caip2Of(details.chainId),
    'x402.scheme': details.scheme,
    'x402.asset': details.token,
    'x402.state': state,
    ...(reason !== undefined && { 'x402.reason': reason }),
    ...(transaction !== undefined && { 'x402.transaction': transaction }),
    ...(blockNumber !== undefined && { 'x402.block': blockNumber.toString() }),
    ...(batchSize !== undefined && { 'x402.batch_size': batchSize }),
  };
}
