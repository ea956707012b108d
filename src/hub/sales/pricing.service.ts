import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../platform/config/app-config.js';
import { HubService } from '../hub.service.js';
import type { ObjectName } from '../storage/storage-provider.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { type Price, type PricedToken, type WantedPrice } from './price.js';

/** Puts prices on files, for their owners. */
@Injectable()
export class PricingService {
  constructor(
    private readonly config: AppConfig,
    private readonly hub: HubService,
  ) {}

  /** @throws HubRefusal where nothing is sold. */
  assertSelling(): void {
    if (this.config.hub.sales === undefined) {
      throw HubRefusal.forbidden('this hub sells no files');
    }
  }

  /**
   * From now on the name costs this, and what is sold are the bytes it stands for now.
   *
   * @param name - whose owner has asked for it.
   * @throws HubRefusal when there is no such file, it is written again meanwhile, or nothing can be paid on the network.
   */
  async set(name: ObjectName, wanted: WantedPrice): Promise<Price> {
    this.#assertServed(wanted);
    const named = await this.hub.find(name.owner, name.id);
    const { object } = named;
    this.hub.assertServed(named, object);
    const price: Price = {
      ...wanted,
      payTo: wanted.payTo ?? (name.owner as Price['payTo']),
      token: wanted.token ?? this.#tokenOf(wanted),
      contentType: wanted.contentType ?? object.contentType ?? 'application/octet-stream',
      object,
    };
    await this.hub.setPrice(name, price);
    await this.#assertStillThere(name, price);
    return price;
  }

  /** A file that was given up meanwhile is not for sale, and what is stored under its name later is not, either. */
  async #assertStillThere(name: ObjectName, price: Price): Promise<void> {
    const named = await this.hub.lookUp(name.owner, name.id);
    if (named?.object.order === price.object.order) return;
    await this.hub.withdrawPrice(name, price);
    if (named !== undefined) throw HubRefusal.busy('the file was written again meanwhile');
    throw HubRefusal.notFound(`no such file: ${name.id} at ${name.owner}`);
  }

  /** @throws HubRefusal when there is no such file. */
  async clear(name: ObjectName): Promise<void> {
    await this.hub.find(name.owner, name.id);
    await this.hub.setPrice(name, undefined);
  }

  /** @throws HubRefusal when it has none. */
  async of(name: ObjectName): Promise<Price> {
    const price = await this.hub.priceOf(name.owner, name.id);
    if (price === undefined) {
      throw HubRefusal.notFound(`no price: ${name.id} at ${name.owner}`);
    }
    return price;
  }

  /** Which networks another facilitator serves is not known here. */
  #assertServed({ network }: WantedPrice): void {
    const { networks, hub } = this.config;
    if (hub.sales?.facilitator !== undefined || networks.some((one) => one.network === network)) {
      return;
    }
    const served = networks.map((one) => one.network).join(', ');
    throw HubRefusal.malformed(`network: must be one that this hub is paid on: ${served}`);
  }

  /** Any token can be paid by Permit2; those known here for authorizations are paid by them. */
  #tokenOf({ network, asset }: WantedPrice): PricedToken {
    const { knownTokens = [] } = this.config.networks.find((one) => one.network === network) ?? {};
    const known = knownTokens.find(({ address }) => address.toLowerCase() === asset);
    return known?.eip712 ?? { assetTransferMethod: 'permit2' };
  }
}
