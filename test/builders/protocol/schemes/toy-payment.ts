import type { Address, Hex } from 'viem';
import { addressWord, uintWord } from '../../../../src/protocol/evm/abi-words.js';
import { type ReceiptLog, TRANSFER_TOPIC } from '../../../../src/protocol/evm/logs.js';
import type { AcceptedPayment } from '../../../../src/protocol/payment/accepted-payment.js';
import {
  type ParsedPayment,
  parsePayment,
  readEnvelope,
} from '../../../../src/protocol/payment/parse-payment.js';
import type { Payment } from '../../../../src/protocol/payment/payment.js';
import {
  COLLECTED_TOPIC,
  NOTE_METHOD,
  type NoteAuthorization,
  QUIET_METHOD,
  TILL,
} from './toy-scheme.js';

/** A payment of the toy scheme, as its buyer sends it and as it is accepted. */

export const PAYER: Address = `0x${'a1'.repeat(20)}`;
export const ASSET: Address = `0x${'33'.repeat(20)}`;
export const PAYEE: Address = `0x${'22'.repeat(20)}`;
export const COLLECTOR: Address = `0x${'0c'.repeat(20)}`;
const SIGNATURE: Hex = `0x${'5e'.repeat(65)}`;
export const UNTIL = 2_000_000_000;

const note = { from: PAYER, collector: COLLECTOR, serial: '7', ceiling: '1000', until: UNTIL };

export function readNote(changed: object = {}, version: 1 | 2 = 2, amount = '900'): ParsedPayment {
  const terms = { scheme: 'toy', network: 'eip155:56', amount, asset: ASSET, payTo: PAYEE };
  const envelope = readEnvelope({
    paymentPayload: {
      x402Version: version,
      accepted: terms,
      payload: { signature: SIGNATURE, note: { ...note, ...changed } },
    },
    paymentRequirements: terms,
  });
  if (envelope === undefined) throw new Error('no envelope');
  return parsePayment(envelope, [1, 2], () => true);
}

export function aNotePayment(changed: object = {}, amount?: string): Payment {
  const read = readNote(changed, 2, amount);
  if (!read.ok) throw new Error(read.reason);
  return read.payment;
}

export const aNoteAuthorization: NoteAuthorization = {
  scheme: 'toy',
  method: NOTE_METHOD,
  from: PAYER,
  signature: SIGNATURE,
  serial: 7n,
  ceiling: 1000n,
  collector: COLLECTOR,
  until: BigInt(UNTIL),
};
export const anAcceptedNote: AcceptedPayment = {
  chainId: 56,
  asset: ASSET,
  payTo: PAYEE,
  amount: 900n,
  authorization: aNoteAuthorization,
  payerHasCode: false,
  tokenName: undefined,
  tokenVersion: undefined,
};
/** One whose collection leaves no log. */
export const anAcceptedQuietNote: AcceptedPayment = {
  ...anAcceptedNote,
  authorization: { ...aNoteAuthorization, method: QUIET_METHOD },
};
const topic = (address: Address): Hex => `0x${addressWord(address)}`;

/** What a collected note leaves: the event of the counter, and the transfer into the till. */
export function collectedLogs(serial = 7n, firstIndex = 0): ReceiptLog[] {
  const used: Hex[] = [COLLECTED_TOPIC, topic(PAYER), `0x${uintWord(serial)}`];
  const moved: Hex[] = [TRANSFER_TOPIC, topic(PAYER), topic(TILL)];
  return [
    { address: ASSET, topics: used, data: '0x', logIndex: firstIndex },
    { address: ASSET, topics: moved, data: `0x${uintWord(900)}`, logIndex: firstIndex + 1 },
  ];
}
