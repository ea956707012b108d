import { addressWord, bytesWords, uintWord } from './abi-words.js';
import type { UptoAuthorization } from './authorization.js';
import { type Call, selectorOf, sponsoredPermitWords } from './calls.js';

export const UPTO_SETTLE = selectorOf(
  'settle(((address,uint256),uint256,uint256),uint256,address,(address,address,uint256),bytes)',
);
export const UPTO_SETTLE_WITH_PERMIT = selectorOf(
  'settleWithPermit((uint256,uint256,bytes32,bytes32,uint8),((address,uint256),uint256,uint256),uint256,address,(address,address,uint256),bytes)',
);

/**
 * The call of the x402 upto proxy that takes this amount. Only the facilitator that the payer named may
 * send it.
 *
 * @param amount - atomic units, at most the signed maximum.
 */
export function uptoSettlementCall(authorization: UptoAuthorization, amount: bigint): Call {
  const { from, nonce, deadline, witnessTo, facilitator, witnessValidAfter } = authorization;
  const words =
    addressWord(authorization.token) +
    uintWord(authorization.amount) +
    uintWord(nonce) +
    uintWord(deadline) +
    uintWord(amount) +
    addressWord(from) +
    addressWord(witnessTo) +
    addressWord(facilitator) +
    uintWord(witnessValidAfter);
  const signature = bytesWords(authorization.signature);
  const permit = authorization.sponsoredPermit;
  return {
    to: authorization.spender,
    data:
      permit === undefined
        ? `0x${UPTO_SETTLE}${words}${uintWord(10 * 32)}${signature}`
        : `0x${UPTO_SETTLE_WITH_PERMIT}${sponsoredPermitWords(permit)}${words}${uintWord(15 * 32)}${signature}`,
  };
}
