import type { IncomingHttpHeaders } from 'node:http';

/** The headers that the protocol's library demands, and that many clients leave out. */
const BOTH = 'application/json, text/event-stream';
const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream';

/** The parts of an Express request that are used. */
interface McpRequest {
  readonly headers: IncomingHttpHeaders;
  accepts(type: string): string | false;
}

/**
 * The wanted form of an answer: `stream` where the client names it, `json` where it does not, and neither where it
 * accepts neither.
 */
export function acceptedForm(request: McpRequest): 'json' | 'stream' | undefined {
  const isNamed = request.headers.accept?.toLowerCase().includes(STREAM_TYPE) === true;
  if (isNamed && request.accepts(STREAM_TYPE) !== false) return 'stream';
  if (request.accepts(JSON_TYPE) !== false) return 'json';
  return request.accepts(STREAM_TYPE) === false ? undefined : 'stream';
}

/** Content types of programs that set none: an empty one, or the default of `curl -d` and `fetch`. */
const UNNAMED = /^(text\/plain|application\/x-www-form-urlencoded)\s*(;|$)/i;

/** The content type of a message's body. JSON is the only type, so a missing one means JSON. */
export function contentTypeOf({ headers }: Pick<McpRequest, 'headers'>): string {
  const named = headers['content-type'];
  return named === undefined || UNNAMED.test(named) ? JSON_TYPE : named;
}

type Handler<Options> = (request: Request, options?: Options) => Promise<Response>;

/** The library's handler for clients that name one form or none. The request carries the wanted form. */
export function inAcceptedForm<Options>(handle: Handler<Options>): Handler<Options> {
  return async (request, options) => {
    const form = request.headers.get('accept');
    const headers = new Headers(request.headers);
    headers.set('accept', BOTH);
    const answer = await handle(new Request(request, { headers }), options);
    return form === JSON_TYPE ? asJson(answer) : answer;
  };
}

/** Media types that {@link inAcceptedForm} reads. */
export function acceptHeaderOf(form: 'json' | 'stream'): string {
  return form === 'json' ? JSON_TYPE : BOTH;
}

/** The answering message of an event stream; notifications are dropped. */
async function asJson(answer: Response): Promise<Response> {
  if (answer.headers.get('content-type')?.startsWith(STREAM_TYPE) !== true) return answer;
  const text = await answer.text();
  const message = text
    .split(/\r?\n\r?\n/)
    .map(dataOf)
    .find(isAnswer);
  const headers = new Headers(answer.headers);
  headers.set('content-type', JSON_TYPE);
  return new Response(message ?? null, { status: answer.status, headers });
}

function dataOf(event: string): string {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return lines.map((line) => line.slice('data:'.length).trimStart()).join('\n');
}

function isAnswer(data: string): boolean {
  if (data === '') return false;
  const message = JSON.parse(data) as { readonly result?: unknown; readonly error?: unknown };
  return message.result !== undefined || message.error !== undefined;
}
