import type { Server } from 'node:http';
import type { Address } from 'viem';
import { freePort } from '../../sandbox/processes.js';
import { demoSeller, listen } from '../../sandbox/seller.js';
import { newAccount } from '../support/payments.js';
import type { World } from '../support/world.js';

const ONE = 10n ** 18n;

/** A stock seller whose goods cost 1.00, settled by the facilitator that is named. */
export class TestSeller {
  private constructor(
    private readonly world: World,
    private readonly server: Server,
    readonly url: string,
    readonly payTo: Address,
  ) {}

  static async start(world: World, facilitatorUrl: string): Promise<TestSeller> {
    const { usd, coin, chainId } = world;
    const [port, payTo] = [await freePort(), newAccount().address];
    const network = `eip155:${chainId}` as const;
    const app = demoSeller({ facilitatorUrl, network, payTo, usd, coin, price: ONE });
    return new TestSeller(world, await listen(app, port), `http://127.0.0.1:${port}`, payTo);
  }

  /** Whole tokens. */
  async received(token = this.world.usd): Promise<number> {
    return Number((await this.world.balance(token, this.payTo)) / ONE);
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}
