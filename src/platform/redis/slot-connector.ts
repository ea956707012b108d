import { createConnection, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import type { ClusterAddress } from '../config/redis-address.js';
import { ClusterMap } from './cluster-map.js';
import { slotOf } from './hash-slot.js';

type Stream = Awaited<ReturnType<AbstractConnector['connect']>>;
type Connector = NonNullable<RedisOptions['Connector']>;

const DISCONNECT_MS = 2000;

/** One per address, so that the connections of a deployment share their answers. */
const maps = new Map<string, ClusterMap>();

/**
 * Finds the primary of the slot of a hash tag, for a plain connection to it. A Cluster client would hide which server
 * answered, but the epoch of a ledger belongs to one server.
 *
 * @param tag - of every key on this connection.
 */
export function slotConnectorOf(address: ClusterAddress, tag: string): Connector {
  const key = JSON.stringify(address);
  const map = maps.get(key) ?? new ClusterMap(address);
  maps.set(key, map);
  const slot = slotOf(tag);

  return class extends AbstractConnector {
    constructor() {
      super(DISCONNECT_MS);
    }

    async connect(): Promise<Stream> {
      this.connecting = true;
      delete this.firstError;
      let owner;
      try {
        owner = await map.ownerOf(slot);
      } catch (error) {
        // A connection whose connector throws ends for ever, but a closed one reconnects.
        this.firstError = error as Error;
      }
      // The connection may have had to leave during the search.
      if (owner === undefined || !this.#isWanted()) return new Socket().destroy();
      const { host, port } = owner;
      const stream = address.isTls ? connectTls({ host, port }) : createConnection({ host, port });
      stream.once('error', (error: Error) => {
        this.firstError = error;
      });
      this.stream = stream;
      return stream;
    }

    #isWanted(): boolean {
      return this.connecting;
    }
  };
}
