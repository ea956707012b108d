import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ChainableCommander } from 'ioredis';
import { AppConfig } from '../../../platform/config/app-config.js';
import { LedgerConnections } from '../../../platform/redis/ledger-connections.js';
import { runTransaction } from '../../../platform/redis/redis-scripts.js';
import type { AuditEntry } from '../audit-entry.js';
import { auditKey, listKey, signerOf, workChannel } from '../keys.js';
import type { LaneSwitch, SwitchedBy } from './lane-queries.js';

/**
 * Pauses and retires lanes for an operator. The scripts that take work and allocate nonces read the same
 * record, so that it holds from the moment it is written, whoever has the lane, and until it is taken back.
 *
 * @throws RedisUnavailableError from every method.
 */
@Injectable()
export class LaneSwitches {
  constructor(
    private readonly ledger: LedgerConnections,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'history'>,
  ) {}

  /** What is switched already stays as it is. */
  async set(which: LaneSwitch, lane: string, chainId: number, by: SwitchedBy): Promise<void> {
    const setting = this.ledger
      .of(chainId)
      .multi()
      .hsetnx(listKey(chainId, which), signerOf(lane), JSON.stringify(by));
    await runTransaction(which, this.#note(setting, chainId, entryOf(`lane_${which}`, lane, by)));
  }

  async clear(which: LaneSwitch, lane: string, chainId: number, by: SwitchedBy): Promise<void> {
    const clearing = this.ledger
      .of(chainId)
      .multi()
      .hdel(listKey(chainId, which), signerOf(lane))
      .publish(workChannel(chainId), '');
    const entry = entryOf(`lane_not_${which}`, lane, by);
    await runTransaction(`no longer ${which}`, this.#note(clearing, chainId, entry));
  }

  /** In the step that does it: nothing is done unseen, and nothing is seen that was not done. */
  #note(step: ChainableCommander, chainId: number, entry: AuditEntry): ChainableCommander {
    if (this.config.history === undefined) return step;
    const fields = ['entry', JSON.stringify(entry)];
    return step.xadd(auditKey(chainId), 'MAXLEN', '~', NOTED_MOST, '*', ...fields);
  }
}

/** More than operators do while the archive is away. */
const NOTED_MOST = 10_000;

function entryOf(action: string, subject: string, { at, by }: SwitchedBy): AuditEntry {
  return { id: randomUUID(), at, by, action, subject };
}
