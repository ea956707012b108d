import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as OTLP has it in JSON. */
export interface SeenSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  /** ms since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

/** A collector of traces: it keeps what is sent to it by OTLP over HTTP in JSON. */
export class Collector {
  readonly spans: SeenSpan[] = [];
  readonly texts: string[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Collector> {
    const server = createServer();
    const collector = new Collector(server);
    server.on('request', (request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        collector.#take(Buffer.concat(pieces).toString());
        response.setHeader('content-type', 'application/json');
        response.end('{}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1/traces`;
  }

  ofTrace(traceId: string): readonly SeenSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  #take(text: string): void {
    this.texts.push(text);
    const sent = JSON.parse(text) as {
      readonly resourceSpans: readonly {
        readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
      }[];
    };
    for (const { scopeSpans } of sent.resourceSpans) {
      for (const { spans } of scopeSpans) this.spans.push(...spans.map(seen));
    }
  }
}

const ms = (nanoseconds: string): number => Number(BigInt(nanoseconds) / 1_000_000n);

function seen(span: SentSpan): SeenSpan {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    name: span.name,
    parentSpanId: span.parentSpanId ?? '',
    from: ms(span.startTimeUnixNano),
    to: ms(span.endTimeUnixNano),
    isError: span.status?.code === 2,
    attributes: Object.fromEntries(
      span.attributes.map(({ key, value }) => [key, Object.values(value)[0] as unknown]),
    ),
  };
}
