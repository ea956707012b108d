import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  propagation,
  ROOT_CONTEXT,
  trace,
  type Tracer,
} from '@opentelemetry/api';

/** The tracer of this service; one that does nothing where traces are off. */
export function tracer(): Tracer {
  return trace.getTracer('x402-settle');
}

/** A span in another place, by its `traceparent`; the root without a readable one. */
export function contextOf(traceparent: string | undefined): Context {
  if (traceparent === undefined) return ROOT_CONTEXT;
  return propagation.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter);
}

/** @returns the `traceparent` of a context; `undefined` where nothing is traced. */
export function traceparentOf(context: Context): string | undefined {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context, carrier, defaultTextMapSetter);
  return carrier.traceparent;
}
