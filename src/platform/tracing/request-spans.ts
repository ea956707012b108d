import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Middleware } from '../http/middleware.js';
import { isHandedOver } from '../http/response-end.js';
import { routeOf } from '../http/route.js';
import { contextOf, traceparentOf, tracer } from './tracer.js';

/**
 * A span for each request, in the trace that its `traceparent` names (W3C Trace Context). The
 * answer names the span in a header of the same name. A span contains only method, route, status
 * and the id of the settlement.
 */
export const traceRequests: Middleware = (request, response, next) => {
  const { traceparent } = request.headers;
  const parent = contextOf(typeof traceparent === 'string' ? traceparent : undefined);
  const method = request.method ?? '';
  const span = tracer().startSpan(method, { kind: SpanKind.SERVER }, parent);
  const own = trace.setSpan(parent, span);
  const sent = traceparentOf(own);
  if (sent !== undefined) response.setHeader('traceparent', sent);
  const { socket } = request;
  response.once('close', () => {
    const route = routeOf(request);
    if (route !== undefined) span.updateName(`${method} ${route}`);
    const settlementId = response.getHeader('Settlement-Id');
    span.setAttributes({
      'http.request.method': method,
      ...(route !== undefined && { 'http.route': route }),
      ...(isHandedOver(response, socket) && { 'http.response.status_code': response.statusCode }),
      ...(typeof settlementId === 'string' && { 'x402.settlement.id': settlementId }),
    });
    // By the conventions of OpenTelemetry, an error of the client is not an error of the server.
    if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  });
  context.with(own, next);
};
