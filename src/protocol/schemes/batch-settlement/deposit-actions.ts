import { type Address, decodeAbiParameters, decodeFunctionData, type Hex, parseAbi } from 'viem';
import { decodeUint, isBelow } from '../../evm/call-results.js';
import { permit2AllowanceCall } from '../../evm/calls.js';
import { CHANNEL_ESCROW, ERC3009_COLLECTOR, PERMIT2_COLLECTOR } from '../../evm/contracts.js';
import { innerSignatureOf } from '../../evm/erc6492.js';
import { DEPOSITED_TOPIC, isPaidLog, type PaidLog, type ReceiptLog } from '../../evm/logs.js';
import type { HashPart } from '../../payment/hash.js';
import type { Requirements } from '../../payment/payment.js';
import { isUint256 } from '../../payment/wire-values.js';
import type { Reason } from '../../reasons.js';
import type { PresentedAuthorization } from '../authorization-method.js';
import type { Encoded } from '../encoded.js';
import { EIP3009 } from '../methods/eip3009.js';
import { PERMIT2_METHOD } from '../methods/permit2.js';
import { PERMIT2_APPROVAL } from '../permit2/answers.js';
import { decodeApproval } from '../permit2/decode.js';
import type { Action, SignedParts, UsePossibility } from '../scheme.js';
import { CONFIG_STRUCT } from './channel.js';
import type { DepositClaim, Eip3009DepositClaim, Permit2DepositClaim } from './claims.js';
import {
  type DepositAuthorization,
  depositCallOf,
  type Eip3009Deposit,
  type Permit2Deposit,
} from './deposit.js';
import { DEPOSIT, depositNonceOf, readChannel } from './escrow.js';
import { channelExtra } from './verify-channel.js';
import { depositMismatch, verifyDeposit } from './verify-deposit.js';

const SIMULATION_FAILED = 'invalid_batch_settlement_evm_deposit_simulation_failed';
const TRANSACTION_FAILED = 'invalid_batch_settlement_evm_deposit_transaction_failed';

/** What the deposit itself, or the time since, may have changed. */
const MEANING_USED: ReadonlySet<Reason> = new Set<Reason>([
  'invalid_batch_settlement_evm_payload_authorization_valid_before',
  'invalid_batch_settlement_evm_permit2_deadline_expired',
  'invalid_batch_settlement_evm_permit2_allowance_required',
  'invalid_batch_settlement_evm_insufficient_balance',
  'invalid_batch_settlement_evm_cumulative_below_claimed',
  // A refund, or a withdrawal, came after it.
  'invalid_batch_settlement_evm_cumulative_exceeds_balance',
  // The approval of Permit2 that came with it.
  'eip2612_deadline_expired',
  'erc20_approval_tx_nonce_mismatch',
  SIMULATION_FAILED,
]);
/** Code of the payer may have come after the deposit. */
const UNSIGNED: ReadonlySet<Reason> = new Set<Reason>([
  'invalid_batch_settlement_evm_receive_authorization_signature',
  'invalid_batch_settlement_evm_permit2_invalid_signature',
  'invalid_batch_settlement_evm_voucher_signature',
]);

function mayMeanUsed(reason: Reason): UsePossibility {
  if (MEANING_USED.has(reason)) return 'yes';
  return UNSIGNED.has(reason) ? 'if_payer_has_code' : 'no';
}

/** What both ways of a deposit answer alike. It is sold once: what is asked for with its voucher is given once. */
const DEPOSIT_ANSWERS = {
  channelAction: 'deposit',
  mayMeanUsed,
  extraOf: async ({ voucher }, chain) => {
    const state = await readChannel(chain, voucher.channelId);
    return state && channelExtra(voucher.channelId, state);
  },
  mayOmitDetails: true,
  detailsOf: async ({ voucher, amount }, _receipt, chain) => {
    const state = await readChannel(chain, voucher.channelId);
    return state && { amount, extra: { channelState: channelExtra(voucher.channelId, state) } };
  },
  callOf: depositCallOf,
  transferOf: ({ from, config, amount }) => {
    return { asset: config.token, payer: from, payTo: CHANNEL_ESCROW, amount };
  },
  // It can have all of it back.
  chargedTo: ({ from }) => from,
  mayShare: () => true,
  diagnose: async (_chain, _terms, _deposit, { again }) =>
    (await again()).status === 'paid' ? undefined : SIMULATION_FAILED,
  diagnosesUse: false,
  reasonOfRevert: () => undefined,
} satisfies Partial<Action<DepositClaim, DepositAuthorization>>;

const REASONS = {
  insufficientBalance: 'invalid_batch_settlement_evm_insufficient_balance',
  insufficientAllowance: 'invalid_batch_settlement_evm_permit2_allowance_required',
  simulationFailed: SIMULATION_FAILED,
  transactionFailed: TRANSACTION_FAILED,
  noEvidence: TRANSACTION_FAILED,
} as const;

/** A deposit by EIP-3009. */
export const EIP3009_DEPOSIT: Action<Eip3009DepositClaim, Eip3009Deposit> = {
  ...DEPOSIT_ANSWERS,
  method: EIP3009,
  // The collector passes it on to the escrow, in the same call.
  paysInto: (signed) => ({ account: ERC3009_COLLECTOR, shownBy: depositedLog(channelOf(signed)) }),
  reasons: {
    ...REASONS,
    used: 'invalid_exact_evm_nonce_already_used',
    expired: 'invalid_batch_settlement_evm_payload_authorization_valid_before',
  },

  signedPartsOf: (claim, requirements) => {
    const { authorization, nonce, from } = claim;
    if (authorization === undefined || nonce === undefined) return undefined;
    const { chainId, asset } = requirements;
    const key = EIP3009.keyOf(chainId, asset, from, BigInt(nonce));
    return signedParts(key, eip3009Terms(claim, authorization), claim, requirements);
  },
  verify: verifyDeposit,
  termsMismatch: (payment, claim) => depositMismatch(payment, claim),

  termsOf: (deposit) => eip3009Terms({ ...deposit, voucher: deposit }, deposit),
  nonceOf: ({ channelId, salt }) => BigInt(depositNonceOf(channelId, salt)),
  deadlineOf: ({ validBefore }) => validBefore,
  // The token wants a block time below `validBefore`.
  isExpiredAt: ({ validBefore }, blockTime) => validBefore <= blockTime,
  decode: (stored) => {
    const encoded = stored as Encoded<Eip3009Deposit>;
    return {
      ...(encoded as unknown as Eip3009Deposit),
      amount: BigInt(encoded.amount),
      validAfter: BigInt(encoded.validAfter),
      validBefore: BigInt(encoded.validBefore),
    };
  },

  inFlightKindOf: () => 'e',
  gasProfileOf: () => 'deposit by eip3009',

  evidence: {
    by: 'logs',
    isNamed: true,
    logOf: ({ asset, payer }, { method, channelId, salt, amount }, logs, taken) => {
      const nonce = BigInt(depositNonceOf(channelId, salt));
      return EIP3009.isExecutedIn(logs, { method, asset, payer, nonce })
        ? depositedIn(channelId, amount, logs, taken)
        : undefined;
    },
  },
  // Calldata does not name the nonce, which depends on the chain; the token's event does.
  selectors: [],
  presentedIn: () => undefined,
};

/** A deposit by Permit2. Its nonce leaves no log: equal deposits into one channel share no transaction. */
export const PERMIT2_DEPOSIT: Action<Permit2DepositClaim, Permit2Deposit> = {
  ...DEPOSIT_ANSWERS,
  method: PERMIT2_METHOD,
  paysInto: (signed) => ({ account: CHANNEL_ESCROW, shownBy: depositedLog(channelOf(signed)) }),
  reasons: {
    ...REASONS,
    used: 'permit2_invalid_nonce',
    expired: 'invalid_batch_settlement_evm_permit2_deadline_expired',
  },

  signedPartsOf: (claim, requirements) => {
    const { authorization, from } = claim;
    if (authorization === undefined || !isUint256(authorization.nonce)) return undefined;
    const { chainId, asset } = requirements;
    const key = PERMIT2_METHOD.keyOf(chainId, asset, from, authorization.nonce);
    return signedParts(key, permit2Terms(claim, authorization), claim, requirements);
  },
  verify: verifyDeposit,
  termsMismatch: (payment, claim) => depositMismatch(payment, claim),

  termsOf: (deposit) => permit2Terms({ ...deposit, voucher: deposit }, deposit),
  nonceOf: ({ nonce }) => nonce,
  deadlineOf: ({ deadline }) => deadline,
  // Permit2 wants a block time that is not above `deadline`.
  isExpiredAt: ({ deadline }, blockTime) => deadline < blockTime,
  decode: (stored) => {
    const encoded = stored as Encoded<Permit2Deposit>;
    return {
      ...(encoded as unknown as Permit2Deposit),
      amount: BigInt(encoded.amount),
      nonce: BigInt(encoded.nonce),
      deadline: BigInt(encoded.deadline),
      ...decodeApproval(encoded),
    };
  },

  ...PERMIT2_APPROVAL,
  // A node that is behind does not see the approval that came first: the lane asks again.
  diagnose: async (chain, { asset, amount }, { from }, { again }) => {
    const allowance = await chain.call(permit2AllowanceCall(asset, from));
    if ((await again()).status === 'paid') return undefined;
    return isBelow(decodeUint(allowance), amount)
      ? REASONS.insufficientAllowance
      : SIMULATION_FAILED;
  },
  gasProfileOf: ({ sponsoredPermit }) =>
    sponsoredPermit === undefined ? 'deposit by permit2' : 'sponsored deposit by permit2',

  evidence: {
    by: 'logs',
    isNamed: false,
    logOf: (_, { channelId, amount }, logs, taken) => depositedIn(channelId, amount, logs, taken),
  },
  selectors: [DEPOSIT],
  presentedIn: presentedDeposit,
};

/** What of a claim, or of the deposit that it became, the payer committed to. */
interface Committed {
  readonly amount: bigint;
  readonly voucher: { readonly channelId: Hex };
}

function eip3009Terms(
  { amount, voucher }: Committed,
  { validAfter, validBefore }: Pick<Eip3009Deposit, 'validAfter' | 'validBefore'>,
): readonly HashPart[] {
  return ['deposit', voucher.channelId, amount, validAfter, validBefore];
}

function permit2Terms(
  { amount, voucher }: Committed,
  { deadline }: Pick<Permit2Deposit, 'deadline'>,
): readonly HashPart[] {
  return ['deposit', voucher.channelId, amount, deadline];
}

/** Another voucher with the same deposit is another signature: it is judged afresh. */
function signedParts(
  key: readonly HashPart[],
  terms: readonly HashPart[],
  { voucher, signature }: DepositClaim,
  { tokenName, tokenVersion }: Requirements,
): SignedParts {
  const names = [tokenName, tokenVersion].map((one) => (typeof one === 'string' ? one : undefined));
  return {
    key,
    terms,
    domain: [...names, voucher.maxClaimable, voucher.signature],
    ...(signature !== undefined && { signature: innerSignatureOf(signature) }),
  };
}

function channelOf(signed: DepositClaim | DepositAuthorization): Hex {
  return 'voucher' in signed ? signed.voucher.channelId : signed.channelId;
}

function depositedLog(channelId: Hex): PaidLog {
  return { address: CHANNEL_ESCROW, topics: [DEPOSITED_TOPIC, channelId] };
}

/** The event of the escrow by which a channel got this amount. */
function depositedIn(
  channelId: Hex,
  amount: bigint,
  logs: readonly ReceiptLog[],
  taken: ReadonlySet<number>,
): ReceiptLog | undefined {
  return logs.find(
    (log) => !taken.has(log.logIndex) && isPaidLog(log, depositedLog(channelId), amount),
  );
}

const DEPOSIT_ABI = parseAbi([
  CONFIG_STRUCT,
  'function deposit(Config config, uint128 amount, address collector, bytes collectorData)',
]);

/** Reads a deposit by Permit2 from its calldata. */
function presentedDeposit(target: Address, callData: Hex): PresentedAuthorization | undefined {
  if (target !== CHANNEL_ESCROW) return undefined;
  const { args } = decodeFunctionData({ abi: DEPOSIT_ABI, data: callData });
  const [{ payer, token }, amount, collector, collectorData] = args;
  const lower = (address: Address): Address => address.toLowerCase() as Address;
  if (lower(collector) !== PERMIT2_COLLECTOR) return undefined;
  const [nonce] = decodeAbiParameters([{ type: 'uint256' }], collectorData);
  return {
    method: PERMIT2_METHOD.name,
    token: lower(token),
    from: lower(payer),
    to: CHANNEL_ESCROW,
    amount,
    nonce,
  };
}
