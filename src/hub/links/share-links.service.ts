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
 * Share links: an owner's signature that lets its bearer read one file until the link has expired, is used up or
 * revoked. The hub makes and stores no links; it remembers used ones.
 */
@Injectable()
export class ShareLinks {
  constructor(
    private readonly config: AppConfig,
    @Inject(RecoverHubSigner) private readonly recover: RecoverSigner,
    private readonly store: LinkStore,
  ) {}

  /**
   * The link of a request, if it may be used now.
   *
   * @param text - from the URL.
   * @throws HubRefusal, RedisUnavailableError
   */
  async open(text: string): Promise<ShareLink> {
    const link = this.#signed(text);
    assertOpen(await this.store.state(link, nowSeconds()));
    return link;
  }

  /**
   * Uses up a link for one answer.
   *
   * @throws HubRefusal when another request was first; RedisUnavailableError when that is unknown.
   */
  async use(link: ShareLink): Promise<void> {
    if (link.once) assertOpen(await this.store.spend(link, nowSeconds()));
  }

  /**
   * Revokes a link. Idempotent.
   *
   * @param owner - the caller.
   * @throws HubRefusal when it is another owner's link, or this owner has used up too many.
   */
  async revoke(owner: string, text: string): Promise<void> {
    const link = this.#signed(text, 'over too');
    if (link.owner !== owner) throw HubRefusal.forbidden('only the owner of a link can revoke it');
    const now = nowSeconds();
    if (link.until > now && (await this.store.spend(link, now)) === 'full') throw fullRefusal();
  }

  /**
   * Revokes all links of an owner, even one without stored files, because a link is valid for later files.
   *
   * @returns the time of issue up to which they are revoked, Unix seconds.
   * @throws HubRefusal
   */
  async takeAllBack(owner: string): Promise<number> {
    this.#assertShares();
    return this.store.voidAll(owner, nowSeconds());
  }

  /**
   * Revokes every link of a family.
   *
   * @throws HubRefusal for an invalid family, or when this owner has used up too many.
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
    if (verdict.kind === 'over' && whichTimes === 'good')
      throw HubRefusal.gone('the link has expired');
    return link;
  }

  /** Otherwise a signature for one hub would open the files of another. */
  #assertShares(): void {
    const { isPrivate, address } = this.config.hub;
    if (!isPrivate)
      throw HubRefusal.forbidden(
        'a public hub has no share links, because all its files are public',
      );
    if (address === zeroAddress)
      throw HubRefusal.forbidden('this hub has no HUB_ADDRESS, so it accepts no links');
  }
}

function assertOpen(state: LinkState): void {
  if (state === 'open') return;
  if (state === 'full') throw fullRefusal();
  throw HubRefusal.gone(
    state === 'spent'
      ? 'the link was used or revoked'
      : 'the link was revoked, or is too old for this hub: ask the owner for a new link',
  );
}

function fullRefusal(): HubRefusal {
  return HubRefusal.forbidden(
    'this owner has too many links that were used or revoked and have not expired; try again later',
  );
}
