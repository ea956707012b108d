import { Redis } from 'ioredis';
import { CachedPromise } from '../concurrency/cached-promise.js';
import type { ClusterAddress, RedisHost } from '../config/redis-address.js';

/** Time limit for an answer of a node. */
const ANSWER_MS = 1000;

/** A node of a Cluster with some of its slots, as another node reports it. */
interface SlotOwner extends RedisHost {
  /** If two nodes report the same slot, the higher epoch wins. */
  readonly epoch: number;
  readonly slots: readonly (readonly [first: number, last: number])[];
}

/**
 * The owner of each slot of a Cluster. All configured nodes are asked at once, and the newest answer counts, because
 * a partitioned node does not know its successor.
 */
export class ClusterMap {
  /** Connections that search their primaries at the same time share one answer. */
  readonly #owners: CachedPromise<readonly SlotOwner[]>;

  constructor(address: ClusterAddress) {
    this.#owners = new CachedPromise(() => askAll(address), 0);
  }

  /**
   * @returns the address of the primary of a slot.
   * @throws Error if no node knows it.
   */
  async ownerOf(slot: number): Promise<RedisHost> {
    const owner = newestOwner(await this.#owners.get(), slot);
    if (owner === undefined)
      throw new Error(`no node of the Redis Cluster names an owner of slot ${slot}`);
    return owner;
  }
}

/** @param owners - as reported by several nodes. */
export function newestOwner(owners: readonly SlotOwner[], slot: number): SlotOwner | undefined {
  return owners
    .filter(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last))
    .sort((one, other) => other.epoch - one.epoch)[0];
}

/**
 * Reads the answer of `CLUSTER NODES`: lines of `<id> <address:port@bus[,host name]> <flags> <its primary> <ping>
 * <pong> <epoch> <link> <slots> …`.
 *
 * @param asked - the host that answered, because a node may not know its own address.
 * @param isByName - whether to connect by host name, which TLS certificates contain.
 */
export function readOwners(text: string, asked: string, isByName: boolean): readonly SlotOwner[] {
  return text.split('\n').flatMap((line): SlotOwner[] => {
    const [, where = '', flags = '', , , , epoch = '', , ...slots] = line.trim().split(' ');
    const known = flags.split(',');
    if (!known.includes('master') || known.includes('noaddr')) return [];
    const [, address = '', digits = '', name = ''] = WHERE.exec(where) ?? [];
    const port = Number(digits);
    // `[slot->-node]` is moving to another node, and still here.
    const ranges = slots.flatMap((range) => readRange(range) ?? []);
    if (port === 0 || ranges.length === 0) return [];
    const host = isByName && name !== '' ? name : address || asked;
    // An entry without an epoch is older than one with an epoch.
    return [{ host, port, epoch: Number(epoch) || 0, slots: ranges }];
  });
}

/** `10.0.0.1:6379@16379,name`, IPv6 without brackets. Before Redis 7 there is no name, before 4 no bus port. */
const WHERE = /^(.*):(\d{1,5})(?:@\d+)?(?:,([^,]*).*)?$/;

function readRange(text: string): [readonly [number, number]] | undefined {
  const [, first, last] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  return first === undefined ? undefined : [[Number(first), Number(last ?? first)]];
}

async function askAll(address: ClusterAddress): Promise<readonly SlotOwner[]> {
  const answers = await Promise.allSettled(address.nodes.map((node) => ask(address, node)));
  const known = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  const failed = answers.find((answer) => answer.status === 'rejected');
  if (known.length === 0 && failed !== undefined) throw failed.reason;
  return known;
}

async function ask(
  { isTls, username, password }: ClusterAddress,
  { host, port }: RedisHost,
): Promise<readonly SlotOwner[]> {
  const redis = new Redis({
    host,
    port,
    lazyConnect: true,
    connectTimeout: ANSWER_MS,
    commandTimeout: ANSWER_MS,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(isTls && { tls: {} }),
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let reason: unknown;
  redis.on('error', (error) => (reason = error));
  try {
    return readOwners(String(await redis.cluster('NODES')), host, isTls);
  } catch (error) {
    throw reason ?? error;
  } finally {
    redis.disconnect();
  }
}
