import { Inject, Injectable } from '@nestjs/common';
import { zeroAddress } from 'viem';
import { AppConfig } from '../../platform/config/app-config.js';
import { RecoverHubSigner } from '../auth/hub-access.service.js';
import type { RecoverSigner } from '../auth/hub-signature.js';
import { nowSeconds } from '../now-seconds.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { type LinkState, LinkStore } from './link-store.js';
import { readShareLink, type ShareLink, verifyShareLink } from './share-link.js';
import { assertFamily } from './signed-link.js';

/**
 * Share links: an owner's signature that lets its bearer read one file until the link has expired,
 * is used up or revoked. The hub makes none and keeps none; it remembers those that were spent.
 */
@Injectable()
export class ShareLinks {
  constructor(
    private readonly config: AppConfig,
    @Inject(RecoverHubSigner) private readonly recover: RecoverSigner,
    private readonly store: LinkStore,
  ) {}

  /**
   * The link in a request, if it may be used now.
   *
   * @param text - as it stands in the address.
   * @throws HubRefusal, RedisUnavailableError
   */
  async open(text: string): Promise<ShareLink> {
    const link = this.#signed(text);
    assertOpen(await this.store.state(link, nowSeconds()));
    return link;
  }

  /**
   * A link that is good for one answer is used up by this.
   *
   * @throws HubRefusal when another request was first; RedisUnavailableError when that is not
   *   known.
   */
  async use(link: ShareLink): Promise<void> {
    if (link.once) assertOpen(await this.store.spend(link, nowSeconds()));
  }

  /**
   * Takes a link back; one that is over, used up or taken back stays so.
   *
   * @param owner - who asks.
   * @throws HubRefusal when it is another's link, or too many of this owner were spent.
   */
  async revoke(owner: string, text: string): Promise<void> {
    const link = this.#signed(text, 'over too');
    if (link.owner !== owner) throw HubRefusal.forbidden('only its owner takes a link back');
    const now = nowSeconds();
    if (link.until > now && (await this.store.spend(link, now)) === 'full') throw fullRefusal();
  }

  /**
   * Takes back every link of an owner, whether it has stored anything or not: a link is good for what is stored later.
   *
   * @returns until which time of issue, Unix seconds.
   * @throws HubRefusal
   */
  async takeAllBack(owner: string): Promise<number> {
    this.#assertShares();
    return this.store.voidAll(owner, nowSeconds());
  }

  /**
   * Takes back every link of a family.
   *
   * @throws HubRefusal for what names none; where too many of this owner were spent.
   */
  async takeFamilyBack(owner: string, family: string): Promise<void> {
    this.#assertShares();
    assertFamily(family);
    const state = await this.store.voidFamily(owner, family, nowSeconds());
    if (state === 'full') throw fullRefusal();
  }

  #signed(text: string, whichTimes: 'good' | 'over too' = 'good'): ShareLink {
    this.#assertShares();
    const link = readShareLink(text);
    if (link === undefined) throw HubRefusal.malformed('link is not a share link');
    const context = { hub: this.config.hub.address, recover: this.recover, now: nowSeconds() };
    const verdict = verifyShareLink(link, context);
    if (verdict.kind === 'bad') throw HubRefusal.unauthorized(`verify link: ${verdict.message}`);
    if (verdict.kind === 'over' && whichTimes === 'good') throw HubRefusal.gone('the link is over');
    return link;
  }

  /** Else a signature for one hub would open the files of another. */
  #assertShares(): void {
    const { isPrivate, address } = this.config.hub;
    if (!isPrivate) throw HubRefusal.forbidden('a public hub needs no links: it shows all it has');
    if (address === zeroAddress) throw HubRefusal.forbidden('this hub has no HUB_ADDRESS');
  }
}

function assertOpen(state: LinkState): void {
  if (state === 'open') return;
  if (state === 'full') throw fullRefusal();
  throw HubRefusal.gone(
    state === 'spent'
      ? 'the link was used up or taken back'
      : 'the link was taken back, or is older than what this hub remembers: ask for a new one',
  );
}

function fullRefusal(): HubRefusal {
  return HubRefusal.forbidden(
    'too many links of this owner were used up or taken back and are not over',
  );
}
