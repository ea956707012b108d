import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  context,
  diag,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type Sampler,
  SamplingDecision,
} from '@opentelemetry/sdk-trace-base';
import type { TracesConfig } from '../config/traces-settings.js';
import { AtShutdown } from '../lifecycle/at-shutdown.js';
import { tracer } from './tracer.js';

/** Spans that wait for export; further ones are dropped. */
const WAITING_MOST = 4096;
const SENT_AT_ONCE = 512;
const SENT_EVERY_MS = 1000;
const SEND_MS = 5000;

/** The attributes of the process in each span. */
export interface TracedProcess {
  readonly id: string;
  readonly version: string;
}

/**
 * Requests are sampled at random, independent of the caller's flag and trace id, because the caller chooses both.
 * Spans within a request follow its decision.
 */
function samplerOf(ratio: number): Sampler {
  return {
    shouldSample(parent, _traceId, _name, kind) {
      const flags = trace.getSpanContext(parent)?.traceFlags ?? 0;
      const isSampled =
        kind === SpanKind.SERVER ? Math.random() < ratio : (flags & TraceFlags.SAMPLED) !== 0;
      return {
        decision: isSampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
      };
    },
    toString: () => `requests(${ratio})`,
  };
}

/**
 * Traces of this process, by the OpenTelemetry SDK. Without a start, the tracing API does nothing and no part of the
 * SDK runs, so promises are not tracked.
 */
export class Tracing {
  readonly #provider: BasicTracerProvider;
  readonly #fetches = new UndiciInstrumentation({
    requireParentforSpans: true,
    // RPC providers have their API keys in the path.
    requestHook: (span, { origin }) => {
      span.setAttributes({ 'url.full': origin, 'url.path': '', 'url.query': '' });
    },
  });
  readonly #endRedis: () => void;

  /** @param onMessage - receives problems of the SDK, such as a collector that does not answer. */
  constructor(
    { url, ratio, service }: TracesConfig,
    { id, version }: TracedProcess,
    onMessage: (message: string) => void,
  ) {
    const report = (message: string): void => {
      onMessage(message);
    };
    const nothing = (): void => undefined;
    diag.setLogger({
      error: report,
      warn: report,
      info: nothing,
      debug: nothing,
      verbose: nothing,
    });
    this.#provider = new BasicTracerProvider({
      sampler: samplerOf(ratio),
      resource: resourceFromAttributes({
        'service.name': service,
        'service.version': version,
        'service.instance.id': id,
      }),
      spanProcessors: [
        new BatchSpanProcessor(new OTLPTraceExporter({ url, timeoutMillis: SEND_MS }), {
          maxQueueSize: WAITING_MOST,
          maxExportBatchSize: SENT_AT_ONCE,
          scheduledDelayMillis: SENT_EVERY_MS,
          exportTimeoutMillis: SEND_MS,
        }),
      ],
    });
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    trace.setGlobalTracerProvider(this.#provider);
    this.#endRedis = traceRedis();
  }

  /** Exports the waiting spans, within {@link SEND_MS}. */
  @AtShutdown('traces', 'traces')
  async stop(): Promise<void> {
    this.#fetches.disable();
    this.#endRedis();
    await this.#provider.shutdown();
  }
}

/** A command on the diagnostics channel of ioredis; the same object from start to end. */
interface CommandMessage {
  readonly command?: unknown;
  readonly error?: unknown;
}

const CHANNEL = 'tracing:ioredis:command';

/**
 * Makes a span for each Redis command of a traced request, by the diagnostics channel of ioredis. The span contains
 * only the name of the command, because arguments contain payments.
 *
 * @returns a function that stops this.
 */
function traceRedis(): () => void {
  const spans = new WeakMap<object, Span>();
  const start: ChannelListener = (message) => {
    // Commands of the process itself, or for many requests at once, belong to no trace.
    if (trace.getActiveSpan()?.isRecording() !== true) return;
    const { command } = message as CommandMessage;
    const name = typeof command === 'string' ? command.toUpperCase() : 'COMMAND';
    const attributes = { 'db.system.name': 'redis', 'db.operation.name': name };
    spans.set(
      message as object,
      tracer().startSpan(`redis ${name}`, { kind: SpanKind.CLIENT, attributes }),
    );
  };
  const end: ChannelListener = (message) => {
    const span = spans.get(message as object);
    if (span === undefined) return;
    spans.delete(message as object);
    if ((message as CommandMessage).error !== undefined) {
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  };
  subscribe(`${CHANNEL}:start`, start);
  subscribe(`${CHANNEL}:asyncEnd`, end);
  return () => {
    unsubscribe(`${CHANNEL}:start`, start);
    unsubscribe(`${CHANNEL}:asyncEnd`, end);
  };
}
