import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyRing } from '../seal/key-ring.js';
import { WalletStorageError } from '../wallet-error.js';
import { readChainedFile } from './chained-file.js';
import { type Checkpoint, CHECKPOINT_SUFFIX, readCheckpoint } from './checkpoint.js';
import type { JournalAnchor } from './journal-anchor.js';
import { JournalEvent, JournalLine } from './journal-record.js';
import { JournalState } from './journal-state.js';
import { BrokenChainError, type ChainHead } from './line-chain.js';

export const JOURNAL_SUFFIX = '.jsonl';
/** The anchor's name for the progress of checkpoints. */
export const CHECKPOINTS = 'checkpoints';

/** Files are archived while the folder is read, and a shared file system may show them late. */
const ATTEMPTS = 5;
const AGAIN_MS = 200;

/** The content of a whole journal. */
export interface JournalReading {
  readonly state: JournalState;
  /** The position up to which each file in the folder was read. */
  readonly heads: ReadonlyMap<string, ChainHead>;
  readonly checkpoint: Checkpoint | undefined;
  /** The order of the newest record. */
  readonly order: number;
}

interface Ordered {
  readonly order: number;
  readonly event: JournalEvent;
}

/** Reads the newest checkpoint of a folder and the records after it. */
export class JournalReader {
  constructor(
    private readonly dir: string,
    private readonly keys: KeyRing,
    private readonly anchor: JournalAnchor,
    private readonly againMs = AGAIN_MS,
  ) {}

  /**
   * @throws WalletStorageError when the journal cannot be read, was tampered with, or lacks records that were seen
   *   before.
   * @throws RedisUnavailableError when the anchor cannot be read.
   */
  async read(): Promise<JournalReading> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#readOnce();
      } catch (error) {
        const isOfFiles = error instanceof BrokenChainError || 'syscall' in (error as object);
        if (!isOfFiles) throw error;
        if (attempt === ATTEMPTS) throw new WalletStorageError('WALLET_AUDIT_DIR', error);
        await sleep(this.againMs);
      }
    }
  }

  async #readOnce(): Promise<JournalReading> {
    // Read first: the files can only have grown since.
    const leastLines = await this.anchor.leastLines();
    const names = (await readdir(this.dir)).sort();
    const state = new JournalState();
    const newest = names.filter((name) => name.endsWith(CHECKPOINT_SUFFIX)).at(-1);
    const checkpoint =
      newest === undefined
        ? undefined
        : await readCheckpoint(join(this.dir, newest), newest, this.keys, (item) => {
            state.load(item);
          });
    const covered = checkpoint?.files ?? new Map<string, never>();
    const heads = new Map<string, ChainHead>();
    const events: Ordered[] = [];
    for (const name of names.filter((one) => one.endsWith(JOURNAL_SUFFIX))) {
      const path = join(this.dir, name);
      const head = await readChainedFile(path, name, this.keys, {
        from: covered.get(name)?.head,
        onLine: (json) => events.push(readLine(json)),
      });
      heads.set(name, head);
    }
    assertComplete({ leastLines, checkpoint, heads });
    let order = checkpoint?.order ?? 0;
    for (const one of events.sort((a, b) => a.order - b.order)) {
      state.apply(one.event, one.order);
      order = one.order;
    }
    return { state, heads, checkpoint, order };
  }
}

function readLine(json: string): Ordered {
  try {
    const { order, record } = JournalLine.parse(JSON.parse(json));
    return { order, event: JournalEvent.parse(record) };
  } catch (error) {
    throw new BrokenChainError('a record of the journal cannot be read', { cause: error });
  }
}

/** Every file known to a checkpoint or the anchor must be in the folder or in the archive. */
function assertComplete({
  leastLines,
  checkpoint,
  heads,
}: {
  readonly leastLines: ReadonlyMap<string, number>;
  readonly checkpoint: Checkpoint | undefined;
  readonly heads: ReadonlyMap<string, ChainHead>;
}): void {
  for (const [name, { isDone }] of checkpoint?.files ?? []) {
    if (isDone || heads.has(name)) continue;
    throw new BrokenChainError('a file of the journal is missing');
  }
  for (const [name, least] of leastLines) {
    const covered = checkpoint?.files.get(name)?.head.lines;
    const lines = name === CHECKPOINTS ? checkpoint?.sequence : (heads.get(name)?.lines ?? covered);
    if ((lines ?? 0) >= least) continue;
    throw new BrokenChainError('the journal lacks records that were read before');
  }
}
