import type { Hex } from 'viem';
import { addressWord, uintWord } from '../../evm/abi-words.js';
import { decodeBoolean } from '../../evm/call-results.js';
import { authorizationStateCall } from '../../evm/calls.js';
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  type ReceiptLog,
} from '../../evm/logs.js';
import type { AuthorizationMethod, AuthorizationRef } from '../authorization-method.js';

const USE_EVENTS: readonly Hex[] = [AUTHORIZATION_USED_TOPIC, AUTHORIZATION_CANCELED_TOPIC];

/** EIP-3009: the token stores the nonces of its payers, and emits an event for each used nonce. */
export const EIP3009: AuthorizationMethod = {
  name: 'eip3009',
  keyOf: (chainId, asset, payer, nonce) => ['eip3009', chainId, asset, payer, nonce],
  stateCall: ({ asset, payer, nonce }) =>
    authorizationStateCall(asset, payer, `0x${uintWord(nonce)}`),
  readState: decodeBoolean,
  useEvents: USE_EVENTS,
  searchTopics: ({ payer, nonce }) => [
    USE_EVENTS,
    `0x${addressWord(payer)}`,
    `0x${uintWord(nonce)}`,
  ],
  isNamedIn: (logs, ref) => logs.some((log) => isNamed(log, ref, USE_EVENTS)),
  isExecutedIn: (logs, ref) => logs.some((log) => isNamed(log, ref, [AUTHORIZATION_USED_TOPIC])),
};

function isNamed(
  { address, topics: [event, by, nonce] }: ReceiptLog,
  ref: AuthorizationRef,
  events: readonly Hex[],
): boolean {
  return (
    address === ref.asset &&
    event !== undefined &&
    events.includes(event) &&
    by === `0x${addressWord(ref.payer)}` &&
    nonce === `0x${uintWord(ref.nonce)}`
  );
}
