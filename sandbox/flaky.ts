import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';

/** Answers above it are broken off, so many times each. Bytes. */
const LARGE = 4_194_304;
const CUTS = 3;
/** Where it says how often it has cut a path. */
const COUNT = '/flaky/cuts?path=';

/**
 * A bad line to a server: of each large answer the first three are cut in the middle. A purchase over it is complete
 * all the same, or absent.
 */
export async function startFlakyLine(target: string, port: number): Promise<Server> {
  const cuts = new Map<string, number>();
  const server = createServer((incoming, outgoing) => {
    const { url = '/' } = incoming;
    if (url.startsWith(COUNT)) {
      outgoing.end(String(cuts.get(decodeURIComponent(url.slice(COUNT.length))) ?? 0));
      return;
    }
    pass(new URL(url, target), incoming, outgoing, (bytes) => {
      const count = cuts.get(url) ?? 0;
      if (bytes <= LARGE || count >= CUTS) return false;
      cuts.set(url, count + 1);
      return true;
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** How often a line has cut the answers of a URL. */
export async function cutsOf(lineUrl: string, url: string): Promise<number> {
  const { pathname, search } = new URL(url);
  const answer = await fetch(`${lineUrl}${COUNT}${encodeURIComponent(pathname + search)}`);
  return Number(await answer.text());
}

/** @param isCut - asked with the length of an answer, once it begins. */
function pass(
  url: URL,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  isCut: (bytes: number) => boolean,
): void {
  const { method, headers } = incoming;
  const onward = request(url, { method, headers }, (answer) => {
    const { statusCode = 502 } = answer;
    const length = Number(answer.headers['content-length'] ?? 0);
    const end = statusCode < 300 && isCut(length) ? length / 3 : Number.POSITIVE_INFINITY;
    outgoing.writeHead(statusCode, answer.headers);
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > end) outgoing.destroy();
      else if (!outgoing.write(chunk)) {
        answer.pause();
        outgoing.once('drain', () => answer.resume());
      }
    });
    answer.on('end', () => outgoing.end());
    answer.on('error', () => outgoing.destroy());
  });
  onward.on('error', () => outgoing.destroy());
  outgoing.on('close', () => onward.destroy());
  incoming.pipe(onward);
}
