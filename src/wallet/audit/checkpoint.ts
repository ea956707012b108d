import { randomBytes } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { z } from 'zod';
import type { KeyRing } from '../seal/key-ring.js';
import { readChainedFile } from './chained-file.js';
import { StateItem } from './journal-state.js';
import { BrokenChainError, type ChainHead, LineChain } from './line-chain.js';

/**
 * A checkpoint holds the whole state of a journal at one time, and the position up to which each file was read for it.
 * It is sealed line by line like the journal, and gets its name only when it is complete.
 */
export const CHECKPOINT_SUFFIX = '.checkpoint';
const WRITE_LINES = 500;

const Head = z.object({ bytes: z.int(), lines: z.int(), mac: z.string() });

const CheckpointItem = z.discriminatedUnion('item', [
  z.object({
    item: z.literal('checkpoint'),
    v: z.literal(1),
    sequence: z.int(),
    order: z.int(),
  }),
  /** `isDone`: no process writes to the file any more, so it may be archived. */
  z.object({ item: z.literal('file'), name: z.string(), head: Head, isDone: z.boolean() }),
  z.object({ item: z.literal('end') }),
  ...StateItem.options,
]);
type CheckpointItem = z.infer<typeof CheckpointItem>;

export interface CoveredFile {
  readonly head: ChainHead;
  readonly isDone: boolean;
}

export interface Checkpoint {
  /** The number of this checkpoint. */
  readonly sequence: number;
  /** The order of the newest record in it. */
  readonly order: number;
  readonly files: ReadonlyMap<string, CoveredFile>;
}

/**
 * Writes a checkpoint. Resolves when it is on disk.
 *
 * @returns the name of its file.
 */
export async function writeCheckpoint(
  dir: string,
  keys: KeyRing,
  { sequence, order, files }: Checkpoint,
  items: Iterable<StateItem>,
): Promise<string> {
  const { newest } = keys;
  const count = String(sequence).padStart(12, '0');
  const name = `${count}-${randomBytes(4).toString('hex')}.${newest.id}${CHECKPOINT_SUFFIX}`;
  const chain = new LineChain(newest, name);
  const draft = join(dir, `${name}.draft`);
  const file = await open(draft, 'wx', 0o600);
  try {
    let lines: string[] = [];
    for (const item of allItems({ sequence, order, files }, items)) {
      lines.push(chain.write(JSON.stringify(item)));
      if (lines.length < WRITE_LINES) continue;
      await file.appendFile(lines.join(''));
      lines = [];
      await breathe();
    }
    await file.appendFile(lines.join(''));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, join(dir, name));
  return name;
}

/** @throws BrokenChainError when it is incomplete. */
export async function readCheckpoint(
  path: string,
  name: string,
  keys: KeyRing,
  onItem: (item: StateItem) => void,
): Promise<Checkpoint> {
  const files = new Map<string, CoveredFile>();
  const frame: { sequence?: number; order: number; isWhole: boolean } = {
    order: 0,
    isWhole: false,
  };
  await readChainedFile(path, name, keys, {
    onLine: (json) => {
      const item = readItem(json);
      if (item.item === 'checkpoint') Object.assign(frame, item);
      else if (item.item === 'file') files.set(item.name, item);
      else if (item.item === 'end') frame.isWhole = true;
      else onItem(item);
    },
  });
  const { sequence, order, isWhole } = frame;
  if (sequence === undefined || !isWhole) throw new BrokenChainError('a checkpoint is incomplete');
  return { sequence, order, files };
}

function* allItems(
  { sequence, order, files }: Checkpoint,
  items: Iterable<StateItem>,
): Generator<CheckpointItem> {
  yield { item: 'checkpoint', v: 1, sequence, order };
  for (const [name, { head, isDone }] of files) yield { item: 'file', name, head, isDone };
  yield* items;
  yield { item: 'end' };
}

function readItem(json: string): CheckpointItem {
  try {
    return CheckpointItem.parse(JSON.parse(json));
  } catch (error) {
    throw new BrokenChainError('a checkpoint cannot be read', { cause: error });
  }
}
