import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  propagation,
  ROOT_CONTEXT,
  trace,
  type Tracer,
} from '@opentelemetry/api';

/** The tracer of this service, which does nothing if traces are off. */
export function tracer(): Tracer {
  return trace.getTracer('x402-settle');
}

/** The context of a span in another process, from its `traceparent`; the root context for a malformed one. */
export function contextOf(traceparent: string | undefined): Context {
  if (traceparent === undefined) return ROOT_CONTEXT;
  return propagation.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter);
}

/** @returns the `traceparent` of a context; `undefined` if it is not traced. */
export function traceparentOf(context: Context): string | undefined {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context, carrier, defaultTextMapSetter);
  return carrier.traceparent;
}
