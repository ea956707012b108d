import { type Address, decodeAbiParameters, getAddress, type Hex } from 'viem';
import type { UptoAuthorization } from '../../evm/authorization.js';
import { UPTO_SETTLE, UPTO_SETTLE_WITH_PERMIT, uptoSettlementCall } from '../../evm/upto-calls.js';
import type { UptoClaim } from '../../payment/payment.js';
import {
  ADDRESS_SCHEMA,
  ATOMIC_UNITS_SCHEMA,
  NONCE_SCHEMA,
  objectSchema,
  SIGNATURE_SCHEMA,
  UNIX_SECONDS_SCHEMA,
} from '../../payment/wire-schemas.js';
import { isUint256 } from '../../payment/wire-values.js';
import { PERMIT2_METHOD } from '../methods/permit2.js';
import { approvalBefore, permit2Allowance, permit2InFlightKind } from '../permit2/approving.js';
import { decodePermit2 } from '../permit2/decode.js';
import { diagnosePermit2 } from '../permit2/diagnose.js';
import { mayHideUse } from '../permit2/hidden-use.js';
import { reasonOfRevert } from '../revert-reason.js';
import type { Action, Scheme } from '../scheme.js';
import { transferIn } from '../transfer-evidence.js';
import { UPTO_EXPLANATIONS, UPTO_FIELDS } from './explain.js';
import { payerAsSent, readUptoAmount, readUptoClaim, whyUnreadable } from './read-claim.js';
import { termsMismatchOfUpto, verifyUpto } from './verify-upto.js';

/** token, maximum, nonce, deadline, amount, owner, witness.to, witness.facilitator, witness.validAfter */
const SETTLE_WORDS = [
  { type: 'address' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'address' },
  { type: 'address' },
  { type: 'address' },
  { type: 'uint256' },
] as const;
const SPONSORED_PERMIT_WORDS = 5;

/** A payment of at most what was signed, by Permit2 through the x402 upto proxy. */
const UPTO_PERMIT2: Action<UptoClaim, UptoAuthorization> = {
  method: PERMIT2_METHOD,
  reasons: {
    used: 'permit2_invalid_nonce',
    expired: 'permit2_deadline_expired',
    insufficientBalance: 'permit2_insufficient_balance',
    insufficientAllowance: 'permit2_allowance_required',
    simulationFailed: 'permit2_simulation_failed',
    transactionFailed: 'invalid_upto_evm_transaction_failed',
    noEvidence: 'invalid_upto_evm_transfer_event_mismatch',
  },
  isRepeatable: false,

  signedPartsOf: (claim, { chainId, asset }) =>
    isUint256(claim.nonce)
      ? {
          key: PERMIT2_METHOD.keyOf(chainId, asset, claim.from, claim.nonce),
          terms: termsOf(claim),
          domain: [],
        }
      : undefined,
  verify: verifyUpto,
  termsMismatch: termsMismatchOfUpto,
  explain: (reason, payment, claim, facts) => UPTO_EXPLANATIONS[reason]?.(payment, claim, facts),
  mayHideUse,
  soleSenderOf: ({ facilitator }) => facilitator,
  settlesLess: true,
  needsNoTransaction: (amount) => amount === 0n,

  termsOf,
  nonceOf: ({ nonce }) => nonce,
  deadlineOf: ({ deadline }) => deadline,
  // Permit2 wants a block time that is not above `deadline`.
  isExpiredAt: ({ deadline }, blockTime) => deadline < blockTime,
  decode: (stored) => decodePermit2(stored) as UptoAuthorization,

  inFlightKindOf: permit2InFlightKind,
  allowanceCall: permit2Allowance,

  preparationOf: approvalBefore,
  callOf: (authorization, { amount }) => uptoSettlementCall(authorization, amount),
  transferOf: ({ from }, { asset, payTo, amount }) => ({ asset, payer: from, payTo, amount }),
  gasCapOf: (_, usual) => usual,
  // Its sender has to be the facilitator itself.
  mayShare: () => false,
  gasProfileOf: ({ sponsoredPermit }) =>
    sponsoredPermit === undefined ? 'upto' : 'upto sponsored',
  diagnose: (chain, terms, { from, spender }, failed) =>
    diagnosePermit2(chain, terms, { payer: from, proxy: spender }, failed),
  diagnosesUse: false,
  reasonOfRevert: (data) => reasonOfRevert(data, PERMIT2_METHOD.name),

  isNamedByEvidence: false,
  evidenceIn: (transfer, _, logs, taken) => transferIn(transfer, logs, taken),
  isDoneByAnybody: false,
  selectors: [UPTO_SETTLE, UPTO_SETTLE_WITH_PERMIT],
  presentedIn: (target, callData, { uptoProxy }) => {
    if (target !== uptoProxy) return undefined;
    const isSponsored = callData.slice(2, 10) === UPTO_SETTLE_WITH_PERMIT;
    const skipped = isSponsored ? SPONSORED_PERMIT_WORDS * 64 : 0;
    const words: Hex = `0x${callData.slice(10 + skipped)}`;
    const [token, , nonce, , amount, owner, to] = decodeAbiParameters(SETTLE_WORDS, words);
    return {
      method: PERMIT2_METHOD.name,
      token: token.toLowerCase() as Address,
      from: owner.toLowerCase() as Address,
      to: to.toLowerCase() as Address,
      amount,
      nonce,
    };
  },
};

type Signed = Pick<
  UptoAuthorization,
  'token' | 'amount' | 'spender' | 'deadline' | 'witnessTo' | 'facilitator' | 'witnessValidAfter'
>;

function termsOf(signed: Signed): (Address | bigint)[] {
  const { token, amount, spender, deadline, witnessTo, facilitator, witnessValidAfter } = signed;
  return [token, amount, spender, deadline, witnessTo, facilitator, witnessValidAfter];
}

/** The x402 scheme `upto`: the buyer signs a ceiling, the seller settles what was used. */
export const UPTO: Scheme = {
  name: 'upto',
  versions: [2],
  extensions: ['eip2612GasSponsoring'],
  sponsoredExtensions: ['erc20ApprovalGasSponsoring'],
  actions: [UPTO_PERMIT2],
  contracts: ['permit2', 'uptoProxy'],
  payloads: [
    {
      name: 'UptoPermit2Payload',
      versions: [2],
      schema: objectSchema({
        signature: SIGNATURE_SCHEMA,
        permit2Authorization: objectSchema({
          from: ADDRESS_SCHEMA,
          permitted: objectSchema({ token: ADDRESS_SCHEMA, amount: ATOMIC_UNITS_SCHEMA }),
          spender: ADDRESS_SCHEMA,
          nonce: NONCE_SCHEMA,
          deadline: UNIX_SECONDS_SCHEMA,
          witness: objectSchema({
            to: ADDRESS_SCHEMA,
            facilitator: ADDRESS_SCHEMA,
            validAfter: UNIX_SECONDS_SCHEMA,
          }),
        }),
      }),
    },
  ],
  readClaim: readUptoClaim,
  claimFields: () => UPTO_FIELDS,
  unreadable: whyUnreadable,
  readAmount: readUptoAmount,
  payerAsSent,
  kindExtra: ([facilitator]) => facilitator && { facilitatorAddress: getAddress(facilitator) },
};
