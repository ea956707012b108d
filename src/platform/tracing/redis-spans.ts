import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { tracer } from './tracer.js';

/** What ioredis says of a command on its diagnostics channel; the same object from start to end. */
interface CommandMessage {
  readonly command?: unknown;
  readonly error?: unknown;
}

const CHANNEL = 'tracing:ioredis:command';

/**
 * A span for each command to Redis that a traced request sends, by the diagnostics channel of
 * ioredis. It contains only the name of the command, because the arguments contain payments.
 *
 * @returns how to stop.
 */
export function traceRedis(): () => void {
  const spans = new WeakMap<object, Span>();
  const start: ChannelListener = (message) => {
    // What the process does for itself, and for many at once, belongs to no trace.
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
