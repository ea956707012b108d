import { Socket } from 'node:net';
import { Redis, type RedisOptions, SentinelConnector } from 'ioredis';
import type { SentinelAddress } from '../config/redis-address.js';

type Emit = Parameters<SentinelConnector['connect']>[0];
type Stream = Awaited<ReturnType<SentinelConnector['connect']>>;
type Connector = NonNullable<RedisOptions['Connector']>;

const SWITCHED = '+switch-master';
const RETRY_MS = 1000;

/** One per address, so that the connections of a deployment share their Sentinel connections. */
const switches = new Map<string, PrimarySwitches>();

/**
 * Finds the primary by its Sentinels, for connections to one address. Each connection leaves its server as soon as
 * any Sentinel reports another primary: the former one may continue in a network partition, and take writes that are
 * lost. This replaces `failoverDetector` of ioredis 6.0, which has three defects: each connection opens its own
 * connections to all Sentinels, the death of a Sentinel is printed past the log, and a connection that must leave
 * while it asks the Sentinels ends for ever.
 */
export function connectorOf(address: SentinelAddress): Connector {
  const key = JSON.stringify(address);
  const ours = switches.get(key) ?? new PrimarySwitches(address);
  switches.set(key, ours);

  return class extends SentinelConnector {
    /** The address of this connection's server, as the Sentinels reported it. */
    #server = '';

    constructor(options: unknown) {
      super({
        ...(options as ConstructorParameters<typeof SentinelConnector>[0]),
        natMap: (server) => {
          this.#server = server;
          return null;
        },
      });
    }

    override async connect(emit: Emit): Promise<Stream> {
      this.#askAnotherFirst();
      let reason: Error | undefined;
      const emitWithReason: Emit = (type, error) => {
        if (type === 'sentinelError') reason = error;
        else emit(type, reason ?? error);
      };
      try {
        const stream = await super.connect(emitWithReason);
        ours.join(this);
        return stream;
      } catch {
        // The connection had to leave during the search. It retries unless it was closed for good, so the error of an
        // earlier attempt is dropped.
        delete this.firstError;
        return new Socket().destroy();
      }
    }

    override disconnect(): void {
      ours.leave(this);
      super.disconnect();
    }

    /**
     * The Sentinel that answered last may be wrong. And after the last Sentinel of its list, ioredis would report
     * that none can be reached.
     */
    #askAnotherFirst(): void {
      const { done } = this.sentinelIterator.next();
      this.sentinelIterator.reset(!done);
    }

    /** @param server - `host:port` of the new primary. */
    leaveUnless(server: string): void {
      if (this.#server !== server) this.disconnect();
    }
  };
}

interface Follower {
  leaveUnless(server: string): void;
}

/** Subscribes to the Sentinels of one address for a switch of the primary, while a connection is open. */
class PrimarySwitches {
  readonly #followers = new Set<Follower>();
  #listeners: readonly Redis[] = [];

  constructor(private readonly address: SentinelAddress) {}

  join(follower: Follower): void {
    this.#followers.add(follower);
    if (this.#listeners.length === 0) this.#listen();
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower);
    if (this.#followers.size > 0) return;
    for (const listener of this.#listeners) listener.disconnect();
    this.#listeners = [];
  }

  #listen(): void {
    const { sentinels, sentinelUsername, sentinelPassword, isTls } = this.address;
    this.#listeners = sentinels.map(({ host, port }) => {
      const listener = new Redis({
        host,
        port,
        connectTimeout: 2000,
        retryStrategy: () => RETRY_MS,
        ...(sentinelUsername !== undefined && { username: sentinelUsername }),
        ...(sentinelPassword !== undefined && { password: sentinelPassword }),
        ...(isTls && { tls: {} }),
        enableReadyCheck: false,
        maxRetriesPerRequest: null,
      });
      // A connection attempt asks every Sentinel, and reports if all are down.
      listener.on('error', () => undefined);
      listener.on('message', (_, text: string) => {
        this.#switched(text);
      });
      listener.subscribe(SWITCHED).catch(() => undefined);
      return listener;
    });
  }

  /** @param text - `<master> <old host> <old port> <new host> <new port>` */
  #switched(text: string): void {
    const [master, , , host, port] = text.split(' ');
    if (master !== this.address.master) return;
    const server = [host, port].join(':');
    for (const follower of [...this.#followers]) follower.leaveUnless(server);
  }
}
