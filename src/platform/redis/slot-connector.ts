import { createConnection, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import type { ClusterAddress } from '../config/redis-address.js';
import { ClusterMap } from './cluster-map.js';
import { slotOf } from './hash-slot.js';

type Stream = Awaited<ReturnType<AbstractConnector['connect']>>;
type Connector = NonNullable<RedisOptions['Connector']>;

const DISCONNECT_MS = 2000;

/** One for each address: connections of one deployment ask together. */
const maps = new Map<string, ClusterMap>();

/**
 * What finds the primary that has the slot of one hash tag, for a plain connection to it. A Cluster client would hide
 * which server answered; what the ledger believes of its epoch is about nothing else.
 *
 * @param tag - of every key that this connection is used for.
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
        // A connection whose connector throws ends for ever; one that is closed already is tried again.
        this.firstError = error as Error;
      }
      // It may have had to leave meanwhile.
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
