import type { Machine } from './machine.js';
import type { Kind } from './payment-factory.js';

/** The parts used of a V8 CPU profile (`node --cpu-prof`). */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
    readonly children?: readonly number[];
  }[];
  /** Microseconds of the system's monotonic clock. */
  readonly startTime: number;
  readonly samples: readonly number[];
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[];
}

/** A part of the time in which the process was not idle. */
export interface Share {
  readonly name: string;
  readonly share: number;
}

/** What `npm run bench:profile` found. */
export interface ProfileReport {
  readonly name: 'profile';
  readonly at: string;
  readonly seed: string;
  readonly machine: Machine;
  readonly kind: Kind;
  readonly perSecond: number;
  readonly shares: readonly Share[];
  readonly functions: readonly Share[];
}

/** Whose code it is, by the first pattern that fits. */
const PARTS: readonly (readonly [name: string, pattern: RegExp])[] = [
  [
    'Node: HTTP server and client, streams, sockets',
    /^node:(_http|http|net|_stream|internal\/(stream|js_stream|http|dtrace))|^node:stream/,
  ],
  [
    'RPC client (undici)',
    /node_modules\/undici|node:internal\/deps\/undici|dist\/platform\/chain\/rpc/,
  ],
  ['Redis client (ioredis)', /ioredis|redis-parser|dist\/(platform\/redis|settlement\/ledger)/],
  ['BullMQ', /node_modules\/bullmq/],
  [
    'Express, body reading',
    /node_modules\/(express|router|body-parser|raw-body|finalhandler|on-finished|send|qs|type-is|iconv-lite|content-type|parseurl|path-to-regexp|depd|destroy|http-errors|bytes|ee-first|media-typer|vary|negotiator|accepts)/,
  ],
  ['Nest', /node_modules\/(@nestjs|rxjs|reflect-metadata)/],
  [
    'Logging (pino)',
    /node_modules\/(pino|nestjs-pino|thread-stream|sonic-boom)|dist\/platform\/observability/,
  ],
  ['Recovering signers (libsecp256k1)', /secp256k1|dist\/platform\/crypto/],
  ['Hashing (WebAssembly)', /hash-wasm|wasm:|dist\/protocol\/evm\/keccak/],
  ['Payments: parsing, checks, call data', /dist\/(protocol|facilitator|platform\/(http|chain))/],
  ['Lanes and settlement', /dist\/(settlement|platform\/concurrency)/],
  ['Metrics, access, health', /prom-client|dist\/operations/],
  ['Node: timers, promises, other', /^node:/],
];

function partOf(functionName: string, url: string): string {
  if (functionName === '(garbage collector)') return 'Garbage collection';
  if (functionName === '(program)')
    return 'Native code outside of JavaScript (system calls, parsers, crypto)';
  const found = PARTS.find(([, pattern]) => pattern.test(url));
  return found?.[0] ?? (url === '' ? 'Built-ins called by all of these' : 'Other packages');
}

/**
 * Self time by part and by function, largest first. What a built-in without a file of its own takes
 * (JSON, Buffer, the native add-on) counts for the function that called it.
 *
 * @param since - microseconds of the monotonic clock; what came before (the start, warming up) does
 *   not count.
 */
export function sharesOf(
  { nodes, startTime, samples, timeDeltas }: CpuProfile,
  since: number,
): {
  readonly shares: readonly Share[];
  readonly functions: readonly Share[];
} {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])),
  );
  const parts = new Map<string, number>();
  const functions = new Map<string, number>();
  let busy = 0;
  let at = startTime;
  samples.forEach((id, index) => {
    at += timeDeltas[index] ?? 0;
    if (at < since) return;
    const frame = byId.get(id)?.callFrame;
    if (frame === undefined || frame.functionName === '(idle)') return;
    const time = timeDeltas[index] ?? 0;
    busy += time;
    let owner = byId.get(id);
    while (owner?.callFrame.url === '' && !owner.callFrame.functionName.startsWith('(')) {
      const parent = byId.get(parents.get(owner.id) ?? 0);
      if (parent === undefined || parent.callFrame.functionName === '(root)') break;
      owner = parent;
    }
    const { functionName, url } = owner?.callFrame ?? frame;
    add(parts, partOf(functionName, url), time);
    const file = frame.url.replace(/^.*\/(node_modules|dist)\//, '');
    add(functions, `${frame.functionName || '(anonymous)'} ${file}:${frame.lineNumber + 1}`, time);
  });
  return { shares: sorted(parts, busy), functions: sorted(functions, busy) };
}

function add(times: Map<string, number>, name: string, time: number): void {
  times.set(name, (times.get(name) ?? 0) + time);
}

function sorted(times: ReadonlyMap<string, number>, whole: number): readonly Share[] {
  return [...times]
    .map(([name, time]) => ({ name, share: time / whole }))
    .sort((a, b) => b.share - a.share);
}
