import type { Address, Hex } from 'viem';
import { addressWord, keccakOfText, uintWord } from '../../../../src/protocol/evm/abi-words.js';
import type { Authorization } from '../../../../src/protocol/evm/authorization.js';
import { decodeBoolean } from '../../../../src/protocol/evm/call-results.js';
import { type ReceiptLog, transferIn } from '../../../../src/protocol/evm/logs.js';
import type { TransferMethod } from '../../../../src/protocol/evm/transfer-method.js';
import type { Claim } from '../../../../src/protocol/payment/payment.js';
import {
  readAddress,
  readBytes,
  readInteger,
  readOptionalObject,
} from '../../../../src/protocol/payment/wire-values.js';
import type {
  AuthorizationMethod,
  AuthorizationRef,
} from '../../../../src/protocol/schemes/authorization-method.js';
import type { Encoded } from '../../../../src/protocol/schemes/encoded.js';
import type { Action, Scheme } from '../../../../src/protocol/schemes/scheme.js';
import { refuse, refuseByState } from '../../../../src/protocol/schemes/verdict.js';

/**
 * A scheme for tests whose every method differs from the ones that are served: notes of a
 * counter contract that hold a ceiling. Only the account that a note names may collect it, alone, into a
 * till, for up to three times the usual gas; a note collected by any sender is done.
 */

export const COUNTER: Address = `0x${'c0'.repeat(20)}`;
export const TILL: Address = `0x${'71'.repeat(20)}`;
export const NOTE_METHOD = 'note' as TransferMethod;
/** Of the note whose collection leaves no log. */
export const QUIET_METHOD = 'quiet note' as TransferMethod;
export const COLLECTED_TOPIC = keccakOfText('Collected(address,uint256)');
/** collect(address token, address from, uint256 serial, uint256 amount) */
export const COLLECT_SELECTOR = 'c011ec70';
const IS_COLLECTED = '15c011ec';

export interface NoteAuthorization extends Authorization {
  readonly serial: bigint;
  /** The most that may be taken; atomic units. */
  readonly ceiling: bigint;
  readonly collector: Address;
  /** Unix seconds. */
  readonly until: bigint;
}

interface NoteClaim extends Claim {
  readonly from: Address;
  readonly nonce: bigint;
  readonly ceiling: bigint;
  readonly collector: Address;
  readonly until: bigint;
}

function isCollected(
  logs: readonly ReceiptLog[],
  { payer, nonce }: Pick<AuthorizationRef, 'payer' | 'nonce'>,
): boolean {
  return logs.some(
    ({ topics }) =>
      topics[0] === COLLECTED_TOPIC &&
      topics[1] === `0x${addressWord(payer)}` &&
      topics[2] === `0x${uintWord(nonce)}`,
  );
}

/** One counter keeps the notes of all tokens and payers, and names each that is collected. */
const NOTES: AuthorizationMethod = {
  name: NOTE_METHOD,
  keyOf: (chainId, _asset, payer, serial) => [NOTE_METHOD, chainId, COUNTER, payer, serial],
  stateCall: ({ payer, nonce }) => ({
    to: COUNTER,
    data: `0x${IS_COLLECTED}${addressWord(payer)}${uintWord(nonce)}`,
  }),
  readState: decodeBoolean,
  useEvents: [COLLECTED_TOPIC],
  searchTopics: ({ payer, nonce }) => [
    COLLECTED_TOPIC,
    `0x${addressWord(payer)}`,
    `0x${uintWord(nonce)}`,
  ],
  isExecutedIn: isCollected,
  isNamedIn: isCollected,
};

const COLLECT: Action<NoteClaim, NoteAuthorization> = {
  method: NOTES,
  reasons: {
    used: 'duplicate_settlement',
    expired: 'settlement_not_sent',
    insufficientBalance: 'amount_too_small',
    insufficientAllowance: 'payer_suspended',
    simulationFailed: 'no_gas',
    transactionFailed: 'gas_limit_exceeded',
    noEvidence: 'asset_suspended',
  },
  isRepeatable: true,

  signedPartsOf: ({ from, nonce, ceiling, collector, until }, { chainId, asset }) => ({
    key: NOTES.keyOf(chainId, asset, from, nonce),
    terms: [ceiling, collector, until],
    domain: [],
  }),
  verify: async (payment, claim, { sender, recoverSigner, chain }, scope) => {
    const digest: Hex = `0x${uintWord(claim.nonce)}`;
    const signature = claim.signature ?? '0x';
    if ((await recoverSigner(digest, signature)) !== claim.from) return refuse('invalid_payload');
    const mismatch = COLLECT.termsMismatch(payment, claim, chain);
    if (mismatch !== undefined) return refuse(mismatch);
    const { scheme, method, from, nonce: serial, ceiling, collector, until } = claim;
    const authorization: NoteAuthorization = {
      ...(scheme !== undefined && { scheme }),
      method,
      from,
      signature,
      serial,
      ceiling,
      collector,
      until,
    };
    if (scope === 'full' && sender?.address !== collector) return refuseByState('unauthorized');
    return { isValid: true, authorization, payerHasCode: false };
  },
  // The ceiling itself is verified; what is settled is that or less.
  termsMismatch: ({ requirements, purpose }, { ceiling }) => {
    const isMet =
      purpose === 'verify' ? requirements.amount === ceiling : requirements.amount <= ceiling;
    return isMet ? undefined : 'amount_too_small';
  },
  mayMeanUsed: () => 'no',
  soleSenderOf: ({ collector }) => collector,
  settlesLess: true,
  needsNoTransaction: (amount) => amount === 0n,

  termsOf: ({ ceiling, collector, until }) => [ceiling, collector, until],
  nonceOf: ({ serial }) => serial,
  deadlineOf: ({ until }) => until,
  isExpiredAt: ({ until }, blockTime) => until < blockTime,
  decode: (stored) => {
    const encoded = stored as Encoded<NoteAuthorization>;
    return {
      ...encoded,
      serial: BigInt(encoded.serial),
      ceiling: BigInt(encoded.ceiling),
      until: BigInt(encoded.until),
    };
  },

  inFlightKindOf: () => 'p',
  allowanceCall: ({ from }, asset) => ({
    to: asset,
    data: `0x00000001${addressWord(from)}${addressWord(COUNTER)}`,
  }),

  callOf: ({ from, serial }, { asset, amount }) => {
    const words = addressWord(asset) + addressWord(from) + uintWord(serial) + uintWord(amount);
    return { to: COUNTER, data: `0x${COLLECT_SELECTOR}${words}` };
  },
  transferOf: ({ from }, { asset, amount }) => ({ asset, payer: from, payTo: TILL, amount }),
  gasCapOf: (_, usual) => usual * 3n,
  mayShare: () => false,
  gasProfileOf: () => 'note',
  diagnose: () => Promise.resolve('no_gas'),
  diagnosesUse: false,
  reasonOfRevert: (data) => (data === '0x01' ? 'payee_not_allowed' : undefined),

  evidence: {
    by: 'logs',
    isNamed: true,
    logOf: (transfer, { from, serial }, logs, taken) =>
      NOTES.isNamedIn(logs, { method: NOTE_METHOD, asset: COUNTER, payer: from, nonce: serial })
        ? transferIn(transfer, logs, taken)
        : undefined,
  },
  isDoneByAnybody: true,
  selectors: [COLLECT_SELECTOR],
  presentedIn: (target, callData) => {
    if (target !== COUNTER) return undefined;
    const word = (place: number): string => callData.slice(10 + place * 64, 74 + place * 64);
    return {
      method: NOTE_METHOD,
      token: `0x${word(0).slice(24)}`,
      from: `0x${word(1).slice(24)}`,
      to: TILL,
      amount: BigInt(`0x${word(3)}`),
      nonce: BigInt(`0x${word(2)}`),
    };
  },
};

/** The same by a counter that succeeds in silence, whether it did anything or not. */
const COLLECT_QUIETLY: Action<NoteClaim, NoteAuthorization> = {
  ...COLLECT,
  method: { ...NOTES, name: QUIET_METHOD },
  evidence: {
    by: 'state',
    callOf: ({ from, serial: nonce }) =>
      NOTES.stateCall({ method: QUIET_METHOD, asset: COUNTER, payer: from, nonce }),
    isDone: decodeBoolean,
  },
  selectors: [],
};

export const TOY_SCHEME: Scheme = {
  name: 'toy',
  versions: [2],
  extensions: ['toyNotes', 'eip2612GasSponsoring'],
  actions: [COLLECT, COLLECT_QUIETLY],
  contracts: [],
  readClaim: (payload): NoteClaim | undefined => {
    const inner = readOptionalObject(payload['payload']);
    const note = readOptionalObject(inner?.['note']);
    const [from, collector] = [readAddress(note?.['from']), readAddress(note?.['collector'])];
    const nonce = readInteger(note?.['serial']);
    const ceiling = readInteger(note?.['ceiling']);
    const until = readInteger(note?.['until']);
    if (from === undefined || collector === undefined) return undefined;
    if (nonce === undefined || ceiling === undefined || until === undefined) return undefined;
    const signature = readBytes(inner?.['signature']);
    const name = { scheme: 'toy', method: NOTE_METHOD };
    return { ...name, from, nonce, ceiling, collector, until, signature };
  },
  payerAsSent: (inner) => readOptionalObject(inner['note'])?.['from'],
  kindExtra: ([collector]) => collector && { collector },
};
