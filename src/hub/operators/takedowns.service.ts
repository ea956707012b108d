import { Injectable } from '@nestjs/common';
import { CodedError, invalidRequest } from '../../platform/http/coded-error.js';
import { canonicalOwner } from '../auth/caller.js';
import { HubService } from '../hub.service.js';
import { HubListing } from '../index/hub-listing.js';
import type { Page } from '../index/listing-steps.js';
import { priceOf } from '../sales/price.js';
import type { ObjectName, Takedown } from '../storage/storage-provider.js';
import { RestorationDto, TakedownDto } from './takedown.dto.js';
import type {
  HubActs,
  HubRestored,
  HubTakedowns,
  HubTakenDown,
  TakedownView,
} from './takedown.response.js';

/** Limit of bytes that are taken down at a time. */
export const TAKEDOWNS_MOST = 10_000;

/**
 * Takes down bytes that must not be served. A takedown covers bytes, not names, because they would be as wrong under
 * another name. The storage's journal records each takedown with its reason and the id of the API key.
 */
@Injectable()
export class Takedowns {
  constructor(
    private readonly hub: HubService,
    private readonly listing: HubListing,
  ) {}

  /**
   * @param by - id of the operator's API key.
   * @throws CodedError, StorageUnavailableError, IndexUnavailableError: it may have been done.
   */
  async takeDown(asked: TakedownDto, by: string): Promise<HubTakenDown> {
    const reason = reasonOf(asked);
    const name = nameOf(asked);
    const digests = name === undefined ? [digestOf(asked)] : await this.#digestsOf(name);
    const { owner, id } = name ?? { owner: '', id: '' };
    const known = await this.listing.takedownsOf(digests);
    const isSame = (digest: string): boolean =>
      known.some((one) => one.sha256 === digest && one.reason === reason);
    const wanted = digests.filter((digest) => !isSame(digest));
    await this.#assertRoom(wanted.length);
    for (const digest of wanted) {
      const act = { op: 'takedown', owner, id, sha256: digest, state: 'down', reason, by } as const;
      await this.hub.noteTakedown(act);
    }
    const takedowns = await this.listing.takedownsOf(digests);
    const outcome = wanted.length === 0 ? 'unchanged' : 'taken_down';
    return { outcome, takedowns: takedowns.map(viewOf) };
  }

  /** The restoration, by the digest only, because the name may refer to other bytes by now. */
  async restore(wanted: RestorationDto, by: string): Promise<HubRestored> {
    const [sha256, reason] = [digestOf(wanted), reasonOf(wanted)];
    const [known] = await this.listing.takedownsOf([sha256]);
    if (known === undefined) return { outcome: 'unchanged', sha256 };
    const { owner, id } = known;
    await this.hub.noteTakedown({ op: 'takedown', owner, id, sha256, state: 'up', reason, by });
    return { outcome: 'restored', sha256 };
  }

  /** The takedowns in force, the newest first. @throws IndexUnavailableError */
  async list(page: Page): Promise<HubTakedowns> {
    const { takedowns, count } = await this.listing.takenDown(page);
    return { takedowns: takedowns.map(viewOf), count };
  }

  /** All takedowns and restorations, the newest first. @throws IndexUnavailableError */
  async acts(page: Page): Promise<HubActs> {
    const acts = await this.listing.takedownActs(page);
    return {
      acts: acts.map((act) => ({
        action: act.state === 'down' ? 'taken_down' : 'restored',
        ...viewOf(act),
      })),
    };
  }

  /** Hashes of the versions of a name, and of the bytes it is sold with. */
  async #digestsOf(name: ObjectName): Promise<readonly string[]> {
    const named = await this.hub.lookUp(name.owner, name.id);
    if (named === undefined) throw new CodedError(404, 'no_such_file', 'There is no such file.');
    const { object, terms } = named;
    const sold = terms === undefined ? object : priceOf(terms, object).object;
    return [...new Set([object.sha256, sold.sha256])];
  }

  async #assertRoom(more: number): Promise<void> {
    const { count } = await this.listing.takenDown({ offset: 0, length: 0 });
    if (more === 0 || count + more <= TAKEDOWNS_MOST) return;
    const message = `${TAKEDOWNS_MOST} contents are taken down, which is the maximum. Restore some that are no longer stored.`;
    throw new CodedError(409, 'takedowns_full', message);
  }
}

/** The requested name; `undefined` for bytes. @throws CodedError for both and for neither. */
function nameOf({ sha256, owner, name }: TakedownDto): ObjectName | undefined {
  if (sha256 !== undefined && owner === undefined && name === undefined) return undefined;
  if (sha256 === undefined && owner !== undefined && name !== undefined) {
    return { owner: canonicalOwner(owner), id: name };
  }
  const message = 'Give sha256, or owner and name.';
  throw invalidRequest(message);
}

function digestOf({ sha256 = '' }: Pick<TakedownDto, 'sha256'>): string {
  return sha256.toLowerCase().replace(/^0x/, '');
}

/** Replaces each white space by one space. */
function reasonOf({ reason }: Pick<TakedownDto, 'reason'>): string {
  return reason.replace(/\s/g, ' ');
}

function viewOf({ sha256, owner, id, reason, by, order }: Takedown): TakedownView {
  const at = new Date(Math.floor(order / 1000)).toISOString();
  return { sha256, owner, name: id, reason, by, at };
}
