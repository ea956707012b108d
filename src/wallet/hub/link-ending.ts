import type { ChainableCommander, Redis } from 'ioredis';
import type { Address, Hex } from 'viem';
import { withTimeout } from '../../platform/concurrency/timing.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { LINK_LIFETIME_MAX_SECONDS } from '../../protocol/hub/hub-messages.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import type { WalletDirectory } from '../accounts/wallet-directory.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { endedLinksKey } from '../wallet-keys.js';
import type { HubClient } from './hub-client.js';

const INTERVAL_MS = 5000;
const BATCH = 20;
/** The hub is notified again after this time. */
const AGAIN_SECONDS = 30;
/** A request that revokes tokens waits this long for the hub; the rest is done later. */
const HUB_TIMEOUT_MS = 3000;
/** The paths at which links are used and revoked. */
const LINK_PATHS = ['/api/shared', '/api/incoming'] as const;

/**
 * Notifies the hub of links that ended with their tokens. The step that revokes the tokens also notes the links, which
 * stay noted until the hub has confirmed it.
 */
export class LinkEnding {
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;

  constructor(
    private readonly redis: Redis,
    private readonly client: Pick<HubClient, 'revoke'>,
    private readonly directory: Pick<WalletDirectory, 'find'>,
    private readonly now: () => number,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  start(): void {
    this.#timer = setInterval(() => void this.#tick(), INTERVAL_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Adds the note to the step that revokes the tokens. */
  note(step: ChainableCommander, owner: Address, family: Hex): void {
    const now = this.now();
    step.zadd(endedLinksKey(), now, memberOf(owner, family, now));
  }

  /** Notifies the hub of the noted links. If it does not answer soon, that is done later. */
  async endNow(): Promise<void> {
    await withTimeout(HUB_TIMEOUT_MS, this.#tick());
  }

  async #tick(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { redis, now } = this;
    const key = endedLinksKey();
    try {
      const due = redis.zrangebyscore(key, '-inf', now(), 'LIMIT', 0, BATCH);
      for (const member of await redisCall('wallet_links', due)) {
        // Another process leaves it to this one, or continues if this one stops.
        await redisCall('wallet_links', redis.zadd(key, 'XX', now() + AGAIN_SECONDS, member));
        await this.#tell(member);
        await redisCall('wallet_links', redis.zrem(key, member));
      }
    } catch (error) {
      this.onFailure(error);
    } finally {
      this.#isRunning = false;
    }
  }

  async #tell(member: string): Promise<void> {
    const [ownerText, family = '', notedAt = '0'] = member.split(' ');
    const owner = readAddress(ownerText);
    const isOver = Number(notedAt) + LINK_LIFETIME_MAX_SECONDS < this.now();
    const wallet = owner && (await this.directory.find(owner));
    if (owner === undefined || wallet === undefined || isOver) return;
    const session: Session = {
      owner,
      wallet,
      role: 'owner',
      tokenId: 'links',
      expiresAt: 0,
      generation: 0,
    };
    for (const path of LINK_PATHS) {
      try {
        await this.client.revoke(session, path, { family }, true);
      } catch (error) {
        if (!isRefused(error, 'forbidden', 'not_found')) throw error;
        // The hub's limit of revoked links for this wallet is reached, so all links are revoked.
        await this.client.revoke(session, path, {}, true).catch((failure: unknown) => {
          // A public hub has no share links, and refuses this too.
          if (!isRefused(failure, 'forbidden')) throw failure;
        });
      }
    }
  }
}

function memberOf(owner: Address, family: Hex, now: number): string {
  return `${owner} ${family} ${now}`;
}

function isRefused(error: unknown, ...codes: readonly WalletError['code'][]): boolean {
  return error instanceof WalletError && codes.includes(error.code);
}
