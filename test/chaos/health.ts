import { ask } from './client.js';
import type { Stage } from './stage.js';

/** A lane as `GET /health` shows it. */
interface LaneView {
  readonly signer: string;
  readonly code?: string;
  readonly inFlight: number;
  readonly gaps: number;
}

/** What the deployment says of itself to anybody. */
interface HealthView {
  readonly lanes: readonly LaneView[];
  readonly depth: number;
  readonly live: number;
  /** Every trouble that is named, of whatever part. */
  readonly codes: readonly string[];
}

const ANSWER_TIMEOUT_MS = 2000;

/** Asks one answering process after another; `undefined` when none says anything whole. */
export async function readHealth(stage: Stage): Promise<HealthView | undefined> {
  for (const url of stage.fleet.of('api').flatMap(({ healthUrls }) => healthUrls)) {
    const answer = await ask(url, { timeoutMs: ANSWER_TIMEOUT_MS });
    const details = answer?.json['details'] ?? answer?.json['info'];
    if (isObject(details)) return viewOf(details, stage.world.chainId);
  }
  return undefined;
}

/** Whether a process says of every endpoint of the network that it answers; `undefined` where it says nothing of them. */
export async function reachesEveryNode(
  healthUrls: readonly string[],
  chainId: number,
): Promise<boolean | undefined> {
  for (const url of healthUrls) {
    const answer = await ask(url, { timeoutMs: ANSWER_TIMEOUT_MS }).catch(() => undefined);
    const details = answer?.json['details'] ?? answer?.json['info'];
    if (!isObject(details)) continue;
    const endpoints = [...objectsIn(details, `eip155:${chainId}`)].filter(
      (node) => typeof node['endpoint'] === 'number' && 'lagBlocks' in node,
    );
    if (endpoints.length > 0) return endpoints.every(({ code }) => code === undefined);
  }
  return undefined;
}

type Node = Record<string, unknown>;

/** Finds what it needs by its own fields, wherever it stands; networks served once are left out. */
function viewOf(details: Node, chainId: number): HealthView {
  const nodes = [...objectsIn(details, `eip155:${chainId}`)];
  const queues = nodes.filter((node) => typeof node['depth'] === 'number' && 'live' in node);
  const lanes = nodes.filter(
    (node) => typeof node['signer'] === 'string' && typeof node['inFlight'] === 'number',
  );
  return {
    lanes: lanes.map((lane) => lane as unknown as LaneView),
    depth: sum(queues, 'depth'),
    live: sum(queues, 'live'),
    codes: nodes.flatMap(({ code }) => (typeof code === 'string' ? [code] : [])),
  };
}

function* objectsIn(node: unknown, network: string): Generator<Node> {
  if (Array.isArray(node)) {
    for (const one of node) yield* objectsIn(one, network);
  } else if (isObject(node)) {
    if (typeof node['network'] === 'string' && node['network'] !== network) return;
    yield node;
    for (const [name, one] of Object.entries(node)) {
      if (!name.startsWith('eip155:') || name === network) yield* objectsIn(one, network);
    }
  }
}

const isObject = (value: unknown): value is Node => typeof value === 'object' && value !== null;
const sum = (nodes: readonly Node[], field: string): number =>
  nodes.reduce((total, node) => total + Number(node[field] ?? 0), 0);
