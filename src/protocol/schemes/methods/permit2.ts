import { addressWord } from '../../evm/abi-words.js';
import { decodeUint } from '../../evm/call-results.js';
import { isBitSet, nonceBitmapCall } from '../../evm/calls.js';
import { PERMIT2 } from '../../evm/contracts.js';
import { TRANSFER_TOPIC } from '../../evm/logs.js';
import type { AuthorizationMethod } from '../authorization-method.js';

/**
 * Permit2 SignatureTransfer: the contract stores one set of nonces for each payer, for all tokens. A use emits no
 * event except the transfer of the token.
 */
export const PERMIT2_METHOD: AuthorizationMethod = {
  name: 'permit2',
  keyOf: (chainId, _asset, payer, nonce) => ['permit2', chainId, PERMIT2, payer, nonce],
  stateCall: ({ payer, nonce }) => nonceBitmapCall(payer, nonce),
  readState: (outcome, { nonce }) => {
    const bitmap = decodeUint(outcome);
    return bitmap === undefined ? undefined : isBitSet(bitmap, nonce);
  },
  useEvents: [],
  searchTopics: ({ payer, payTo }) => [
    TRANSFER_TOPIC,
    `0x${addressWord(payer)}`,
    payTo === undefined ? null : `0x${addressWord(payTo)}`,
  ],
  isNamedIn: () => false,
  isExecutedIn: () => false,
};
