import type { Hex } from 'viem';
import type { Reason } from '../core/reasons.js';
import { REASONS } from '../core/reasons.js';
import type { SaleState, SettlementState, SettlementView } from '../core/settlement/settlement.js';
import type { ScriptReply } from '../redis/redis-scripts.js';
import { asList, asText, asTexts } from './reply.js';

/** A view with the generation of its claim, which names the refusal of a claim that is gone. */
export interface Snapshot extends SettlementView {
  readonly generation: string;
}

/** Reads what `snapshot` in the Lua prelude returns. An empty list means: no such settlement. */
export function readSnapshot(id: string, reply: ScriptReply | undefined): Snapshot | undefined {
  const list = asList(reply);
  if (list.length === 0) return undefined;
  return asText(list[0]) === 'live' ? readLive(id, asTexts(reply)) : readDone(id, list);
}

function readLive(id: string, fields: readonly string[]): Snapshot {
  const [
    ,
    alive,
    sale,
    asker,
    key,
    state,
    tx,
    hashes,
    signed,
    terms,
    block,
    log,
    size,
    isAsync,
    gen,
  ] = fields;
  return {
    id,
    state: state as SettlementState,
    isPaid: state === 'included',
    sale: readSale(sale, asker, key, alive ?? '0'),
    termsTag: terms ?? '',
    signedTag: signed ?? '',
    transaction: given(tx ?? '') ?? given(hashes?.split(',').at(-1) ?? ''),
    reason: undefined,
    blockNumber: readBigint(block),
    logIndex: readNumber(log),
    batchSize: readNumber(size),
    isAsync: isAsync === '1',
    generation: gen ?? '',
  };
}

function readDone(id: string, list: readonly ScriptReply[]): Snapshot {
  return {
    ...readTombstone(id, asText(list[2])),
    sale: saleOfTombstone(asText(list[2]), asText(list[1])),
  };
}

function saleOfTombstone(text: string, alive: string): Snapshot['sale'] {
  const fields = text.split('|');
  return readSale(fields[9], fields[10], fields[11], alive);
}

/** Reads a tombstone; its fields are listed in the Lua prelude. */
export function readTombstone(id: string, text: string): Snapshot {
  const [
    ,
    state,
    paid,
    tx,
    block,
    log,
    size,
    signed,
    terms,
    sale,
    asker,
    key,
    ,
    reason,
    ,
    isAsync,
  ] = text.split('|');
  return {
    id,
    state: state as SettlementState,
    isPaid: paid === '1',
    sale: readSale(sale, asker, key, '0'),
    termsTag: terms ?? '',
    signedTag: signed ?? '',
    transaction: given(tx ?? ''),
    reason: readReason(reason),
    blockNumber: readBigint(block),
    logIndex: readNumber(log),
    batchSize: readNumber(size),
    isAsync: isAsync === '1',
    generation: '',
  };
}

function readSale(
  state: string | undefined,
  asker: string | undefined,
  key: string | undefined,
  alive: string,
): Snapshot['sale'] {
  return {
    state: state as SaleState,
    asker: asker === '' ? undefined : asker,
    isAskerAlive: alive === '1',
    keyTag: key === '' ? undefined : key,
  };
}

export function readReason(text: string | undefined): Reason | undefined {
  return text !== undefined && text in REASONS ? (text as Reason) : undefined;
}

function given(text: string): Hex | undefined {
  return text === '' ? undefined : (text as Hex);
}

function readBigint(text: string | undefined): bigint | undefined {
  return text === undefined || text === '' ? undefined : BigInt(text);
}

function readNumber(text: string | undefined): number | undefined {
  return text === undefined || text === '' ? undefined : Number(text);
}
