import type { Address, Hex } from 'viem';
import type { ScriptReply } from '../../platform/redis/redis-scripts.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import { encodePayment } from '../../protocol/payment/accepted-payment-codec.js';
import {
  authorizationNonceOf,
  boundedDeadlineOf,
  chargedTo,
  inFlightKindOf,
  settledAmountOf,
  soleSenderOf,
} from '../../protocol/payment/payment-facts.js';
import { type Reason, REASONS } from '../../protocol/reasons.js';
import { DEFAULT_SCHEME, isMethodName } from '../../protocol/schemes/registry.js';
import type { RecordedSettlement } from '../model/recorded-settlement.js';
import type { SaleState, SettlementDetails, SettlementView } from '../model/settlement.js';
import { type Stage, STATE_OF } from '../model/settlement-machine.js';
import type { FailedTransaction, SentBefore } from './lane-store.js';
import { asList } from './reply.js';
import type { Adoption } from './settlement-store.js';

/**
 * The record of a claim: a Redis hash `s:<id>`, the same while it is live and when it is finished. This
 * file alone reads and writes it in TypeScript. Hashes of the chain are 64 hex digits without `0x`:
 * a finished record that was sold then has no value beyond 64 bytes, which Redis keeps in its compact
 * form.
 *
 * | field | live | finished | holds |
 * |---|---|---|---|
 * | `stage` | x | x | see `settlement-machine.ts` |
 * | `paid` | | x | `1` when the payee was paid by it |
 * | `auth` | x | x | authorization id |
 * | `terms`, `signed` | x | x | tags, see `identity.ts`; `signed` is empty where a lane made the record again |
 * | `sale` | x | x | `open` or `sold` |
 * | `sold_to`, `sold_key` | x | x | the requester it was sold to, and the tag of its key |
 * | `kept` | x | x | `1`: two requesters of one key got it, it cannot be rolled back |
 * | `told` | x | x | `1`: success was acknowledged, or a 202 was included |
 * | `by` | x | | the requester that waits for it since it was claimed |
 * | `joined` | x | | `1`: another one has waited as well |
 * | `early` | x | open | credentials of those that asked before the first broadcast, comma-separated, at most 256: see `requester.ts` |
 * | `key` | x | x | tag of the idempotency key that is bound to it |
 * | `async` | x | x | `1`: accepted by a 202 |
 * | `tx` | x | x | the transaction that decided it, else the newest one |
 * | `block`, `block_hash`, `log`, `batch` | x | x | where it was paid, and how many shared the transaction |
 * | `reason` | | x | why it failed |
 * | `t_claimed`, `t_included`, `t_finished` | x | x | ms since the epoch, by the clock of Redis |
 * | `t_unclaimed` | | x | when it had been paid and without a sale for too long, likewise; gone with its sale |
 * | `t_closed` | | x | when an operator closed it as delivered or refunded by hand, likewise |
 * | `t_arrived`, `t_allocated` | x | | likewise; the first by the clock of the process |
 * | `hashes` | x | | every transaction that ever carried it, oldest first, comma-separated |
 * | `chain`, `asset`, `payer`, `pay_to`, `method`, `amount`, `nonce`, `deadline` | x | | of the payment |
 * | `scheme` | x | | of the payment, where it is not the first one of this service |
 * | `charged_to` | x | | whose gas budget and share of the queue it counts for, where that is not the payee |
 * | `sender` | x | | the only signer that may send it, where there is one |
 * | `settled` | x | x | the amount that the first settle bound, where a scheme may settle less than was signed |
 * | `kind` | x | `n`, `c` | what its amount counts for in flight: see `InFlightKind`; finished, of what is paid and takes nothing of a payer |
 * | `approval` | x | | with kind `a`: see `sponsoring-machine.ts` |
 * | `funding` | x | | `<day>:<gwei>`: what its payer was sent, to be charged once it is paid |
 * | `payment` | x | | the accepted payment, JSON |
 * | `lane`, `lane_nonce` | x | | signer of the lane that has it, account nonce it is bound to |
 * | `since` | x | | a block before its first broadcast; set when that attempt is dead |
 * | `failed` | x | | while it is parked: `<transaction>|<block>|<block hash>|<1 for success>` of its attempt, where that has failed |
 * | `tries`, `again`, `why` | x | | how often its simulation had no result, how often resubmitted, why it is parked |
 *
 * What a finished record has dropped is in its details, `d:<id>`, JSON with the same names.
 */
const VIEW_FIELDS = [
  'stage',
  'paid',
  'terms',
  'signed',
  'sale',
  'sold_to',
  'sold_key',
  'key',
  'tx',
  'hashes',
  'reason',
  'block',
  'log',
  'batch',
  'async',
  'settled',
] as const;

/** Reads a view in Lua: the fields above, in their order. */
export const RECORD_LUA = `local VIEW_FIELDS = { ${VIEW_FIELDS.map((name) => `'${name}'`).join(', ')} }
local function view(key)
  return redis.call('HMGET', key, unpack(VIEW_FIELDS))
end
`;

type Fields = ReadonlyMap<string, string>;

/** Reads the result of `view` in Lua; `undefined` for an empty list: the record does not exist. */
export function readView(id: string, reply: ScriptReply | undefined): SettlementView | undefined {
  const values = asList(reply);
  if (values.length === 0 || values[0] === null) return undefined;
  return viewOf(
    id,
    new Map(
      VIEW_FIELDS.flatMap((name, index) => {
        const value = values[index];
        return typeof value === 'string' ? [[name, value] as const] : [];
      }),
    ),
  );
}

/** @throws RedisUnavailableError if the script returned no record. */
export function presentView(id: string, reply: ScriptReply | undefined): SettlementView {
  const view = readView(id, reply);
  if (view === undefined)
    throw new RedisUnavailableError('view', 'a settlement record disappeared during a step');
  return view;
}

/** Reads a whole record as `HGETALL` returns it. */
export function readRecord(id: string, fields: Fields): SettlementView | undefined {
  return fields.size === 0 ? undefined : viewOf(id, fields);
}

function viewOf(id: string, fields: Fields): SettlementView {
  const stage = readStage(fields.get('stage'));
  const state = STATE_OF[stage];
  const newest = fields.get('hashes')?.split(',').at(-1);
  const closedAt = readNumber(fields.get('t_closed'));
  return {
    id,
    state,
    isPaid: state === 'included' || fields.get('paid') === '1',
    sale: {
      state: readSale(fields.get('sale')),
      requester: given(fields.get('sold_to')),
      soldKeyTag: given(fields.get('sold_key')),
      boundKeyTag: given(fields.get('key')),
    },
    termsTag: fields.get('terms') ?? '',
    signedTag: fields.get('signed') ?? '',
    transaction: readHash(fields.get('tx')) ?? readHash(newest),
    reason: readReason(fields.get('reason')),
    blockNumber: readBigint(fields.get('block')),
    logIndex: readNumber(fields.get('log')),
    batchSize: readNumber(fields.get('batch')),
    isAsync: fields.get('async') === '1',
    settledAmount: readBigint(fields.get('settled')),
    ...(closedAt !== undefined && { closedAt }),
  };
}

/** Reads the details of a live record, or the stored details of a finished one. */
export function readDetails(fields: Fields, record: Fields): SettlementDetails {
  const times = (name: string): number | undefined =>
    readNumber(record.get(name)) ?? readNumber(fields.get(name));
  return {
    scheme: fields.get('scheme') ?? DEFAULT_SCHEME,
    method: readMethod(fields.get('method')),
    chainId: Number(fields.get('chain')),
    token: fields.get('asset') as Address,
    payer: fields.get('payer') as Address,
    payTo: fields.get('pay_to') as Address,
    amount: BigInt(fields.get('amount') ?? 0),
    authorizationNonce: BigInt(fields.get('nonce') ?? 0),
    deadline: BigInt(fields.get('deadline') ?? 0),
    hashes: readHashes(fields.get('hashes')),
    blockHash: readHash(record.get('block_hash')),
    times: {
      arrived: times('t_arrived'),
      claimed: times('t_claimed'),
      allocated: times('t_allocated'),
      included: times('t_included'),
      finished: times('t_finished'),
    },
  };
}

/**
 * Reads all stored facts of a claim.
 *
 * @param kept - the JSON of `d:<id>`, or an empty text.
 * @returns `undefined` if there is no record.
 */
export function readRecorded(
  id: string,
  record: Fields,
  kept: string,
): RecordedSettlement | undefined {
  const view = readRecord(id, record);
  if (view === undefined) return undefined;
  const claimedAt = readNumber(record.get('t_claimed'));
  if (claimedAt === undefined) throw new TypeError('a settlement record has no claim time');
  const payment = record.has('payment') ? record : kept === '' ? undefined : parseDetails(kept);
  return {
    view,
    details: payment && readDetails(payment, record),
    authorizationId: record.get('auth') ?? '',
    isAcknowledged: record.get('told') === '1',
    isPinned: record.get('kept') === '1',
    blockHash: readHash(record.get('block_hash')),
    times: {
      claimed: claimedAt,
      included: readNumber(record.get('t_included')),
      finished: readNumber(record.get('t_finished')),
      unclaimed: readNumber(record.get('t_unclaimed')),
    },
  };
}

/** @param text - the JSON of `d:<id>`. */
export function parseDetails(text: string): Fields {
  const parsed = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return new Map(
    Object.entries(parsed).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  );
}

/** The facts of a claim; a lane does not remember all of them. */
interface ClaimFacts {
  readonly termsTag: string;
  readonly signedTag?: string;
  readonly arrivedAt?: number | undefined;
}

/** The fields of a payment in its record: name, value, ... */
export function paymentFields(
  payment: AcceptedPayment,
  { termsTag, signedTag, arrivedAt }: ClaimFacts,
): string[] {
  const { authorization, chainId, asset, payTo, amount } = payment;
  const settled = settledAmountOf(payment);
  const sender = soleSenderOf(payment);
  const charged = chargedTo(payment);
  return [
    'terms',
    termsTag,
    ...(signedTag === undefined ? [] : ['signed', signedTag]),
    'chain',
    String(chainId),
    'asset',
    asset,
    'payer',
    authorization.from,
    'pay_to',
    payTo,
    ...(charged === payTo ? [] : ['charged_to', charged]),
    ...(authorization.scheme === undefined ? [] : ['scheme', authorization.scheme]),
    'method',
    authorization.method,
    'amount',
    amount.toString(),
    ...(settled === undefined ? [] : ['settled', settled.toString()]),
    ...(sender === undefined ? [] : ['sender', sender]),
    'nonce',
    authorizationNonceOf(payment).toString(),
    'deadline',
    String(boundedDeadlineOf(payment)),
    'kind',
    inFlightKindOf(payment),
    ...(arrivedAt === undefined ? [] : ['t_arrived', String(arrivedAt)]),
    'payment',
    encodePayment(payment),
  ];
}

/** The fields of a payment that was found on the chain and has no record. */
export function adoptionFields(adoption: Adoption): string[] {
  const { identity, transaction, blockNumber, blockHash, logIndex, settledAmount } = adoption;
  return [
    'auth',
    identity.authorizationId,
    'terms',
    identity.termsTag,
    'signed',
    identity.signedTag,
    'tx',
    encodeHash(transaction),
    'block',
    blockNumber.toString(),
    'block_hash',
    encodeHash(blockHash),
    'batch',
    '1',
    'log',
    logIndex?.toString() ?? '',
    ...(settledAmount === undefined ? [] : ['settled', settledAmount.toString()]),
  ];
}

export function encodeHash(hash: Hex): string {
  return hash.slice(2);
}

export function readHash(text: string | undefined): Hex | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^[0-9a-f]{64}$/.test(text))
    throw new TypeError('a settlement record has a malformed transaction hash');
  return `0x${text}`;
}

function readHashes(text: string | undefined): readonly Hex[] {
  return (text ?? '').split(',').flatMap((one) => readHash(one) ?? []);
}

/** Reads a script's reply about the earlier attempts of a settlement. */
export function readSentBefore(since: string, hashes: string | undefined): SentBefore {
  return { sinceBlock: BigInt(since), hashes: readHashes(hashes) };
}

export function encodeFailed(failed: FailedTransaction): string {
  const { transaction, blockNumber, blockHash, isSuccess } = failed;
  return [
    encodeHash(transaction),
    blockNumber.toString(),
    encodeHash(blockHash),
    isSuccess ? '1' : '0',
  ].join('|');
}

/** Reads what {@link encodeFailed} wrote. */
export function readFailed(text: string): FailedTransaction {
  const [tx, block = '', hash, success] = text.split('|');
  const [transaction, blockHash] = [readHash(tx), readHash(hash)];
  if (transaction === undefined || blockHash === undefined)
    throw new TypeError('a settlement record has a malformed failed transaction');
  return { transaction, blockNumber: BigInt(block), blockHash, isSuccess: success === '1' };
}

export function readStage(text: string | undefined): Exclude<Stage, 'none'> {
  if (text !== undefined && Object.hasOwn(STATE_OF, text)) return text as Exclude<Stage, 'none'>;
  throw new TypeError('a settlement record has an unknown stage');
}

function readSale(text: string | undefined): SaleState {
  if (text === 'open' || text === 'sold') return text;
  throw new TypeError('a settlement record has an unknown sale state');
}

function readMethod(text: string | undefined): SettlementDetails['method'] {
  if (isMethodName(text)) return text;
  throw new TypeError('a settlement record has an unknown method');
}

export function readReason(text: string | undefined): Reason | undefined {
  return text !== undefined && Object.hasOwn(REASONS, text) ? (text as Reason) : undefined;
}

function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function readBigint(text: string | undefined): bigint | undefined {
  return text === undefined || text === '' ? undefined : BigInt(text);
}

export function readNumber(text: string | undefined): number | undefined {
  return text === undefined || text === '' ? undefined : Number(text);
}
