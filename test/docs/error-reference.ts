import { serializeErc6492Signature } from 'viem';
import { type Reason, type ReasonFacts, REASONS } from '../../src/protocol/reasons.js';
import { BATCH_SETTLEMENT_REASONS } from '../../src/protocol/reasons/batch-settlement-reasons.js';
import { EIP3009_REASONS } from '../../src/protocol/reasons/eip3009-reasons.js';
import { PERMIT2_REASONS } from '../../src/protocol/reasons/permit2-reasons.js';
import { REQUEST_REASONS } from '../../src/protocol/reasons/request-reasons.js';
import { SERVICE_REASONS } from '../../src/protocol/reasons/service-reasons.js';
import { UPTO_REASONS } from '../../src/protocol/reasons/upto-reasons.js';
import {
  bodyUpto,
  bodyV1,
  bodyV2,
  changed,
  type Json,
  OTHER,
  permit2,
  refused,
} from '../builders/facilitator/refusal.js';

const AUTHORIZATION = 'paymentPayload.payload.authorization';
const PERMIT = 'paymentPayload.payload.permit2Authorization';
const SPONSORED = 'paymentPayload.extensions.eip2612GasSponsoring.info';
const FACTORY = `0x${'f6'.repeat(20)}` as const;
const APPROVAL = 'paymentPayload.extensions.erc20ApprovalGasSponsoring.info';
const V2 = bodyV2();
const P2 = bodyV2(permit2);
const UPTO = bodyUpto();

/** A request that is refused for the reason, where a whole one does not show it. */
const REQUESTS: Readonly<Partial<Record<Reason, Json>>> = {
  invalid_x402_version: changed(V2, 'paymentPayload.x402Version', '2'),
  unsupported_scheme: changed(V2, 'paymentRequirements.scheme', 'permit'),
  invalid_network: changed(V2, 'paymentRequirements.network', 'bsc'),
  invalid_payload: changed(V2, `${AUTHORIZATION}.value`, '0.01'),
  invalid_payment_requirements: changed(V2, 'paymentRequirements.amount', '0.01'),
  invalid_exact_evm_scheme: changed(V2, 'paymentPayload.accepted.scheme', 'upto'),
  invalid_exact_evm_network_mismatch: changed(V2, 'paymentPayload.accepted.network', 'eip155:97'),
  invalid_exact_evm_missing_eip712_domain: changed(V2, 'paymentRequirements.extra', {}),
  invalid_exact_evm_recipient_mismatch: changed(V2, `${AUTHORIZATION}.to`, OTHER),
  invalid_exact_evm_payload_authorization_valid_before: changed(
    V2,
    `${AUTHORIZATION}.validBefore`,
    '1799999990',
  ),
  invalid_exact_evm_payload_authorization_valid_after: changed(
    V2,
    `${AUTHORIZATION}.validAfter`,
    '1800000500',
  ),
  invalid_exact_evm_payload_authorization_value_mismatch: changed(
    V2,
    `${AUTHORIZATION}.value`,
    '1000000000',
  ),
  eip6492_factory_not_allowed: changed(
    V2,
    'paymentPayload.payload.signature',
    serializeErc6492Signature({ address: FACTORY, data: '0x', signature: '0x1234' }),
  ),
  invalid_exact_evm_authorization_value: changed(bodyV1(), `${AUTHORIZATION}.value`, '10'),
  invalid_upto_evm_scheme: changed(UPTO, 'paymentPayload.accepted.scheme', 'exact'),
  invalid_upto_evm_network_mismatch: changed(UPTO, 'paymentPayload.accepted.network', 'eip155:97'),
  invalid_upto_evm_payload_settlement_exceeds_amount: changed(
    UPTO,
    'paymentRequirements.amount',
    '1001',
  ),
  upto_amount_exceeds_permitted: changed(UPTO, 'paymentRequirements.amount', '1001'),
  unsupported_payload_type: changed(P2, 'paymentPayload.accepted.scheme', 'upto'),
  invalid_permit2_spender: changed(P2, `${PERMIT}.spender`, OTHER),
  invalid_permit2_recipient_mismatch: changed(P2, `${PERMIT}.witness.to`, OTHER),
  permit2_deadline_expired: changed(P2, `${PERMIT}.deadline`, '1799999990'),
  permit2_not_yet_valid: changed(P2, `${PERMIT}.witness.validAfter`, '1800000500'),
  permit2_payment_too_early: changed(P2, `${PERMIT}.witness.validAfter`, '1800000500'),
  permit2_amount_mismatch: changed(P2, `${PERMIT}.permitted.amount`, '999'),
  permit2_invalid_amount: changed(P2, `${PERMIT}.permitted.amount`, '0'),
  permit2_token_mismatch: changed(P2, `${PERMIT}.permitted.token`, OTHER),
  permit2_2612_amount_mismatch: changed(P2, `${SPONSORED}.amount`, '999'),
  eip2612_from_mismatch: changed(P2, `${SPONSORED}.from`, OTHER),
  eip2612_asset_mismatch: changed(P2, `${SPONSORED}.asset`, OTHER),
  eip2612_spender_not_permit2: changed(P2, `${SPONSORED}.spender`, OTHER),
  eip2612_deadline_expired: changed(P2, `${SPONSORED}.deadline`, '1799999990'),
  erc20_approval_from_mismatch: changed(P2, `${APPROVAL}.from`, OTHER),
  erc20_approval_asset_mismatch: changed(P2, `${APPROVAL}.asset`, OTHER),
  erc20_approval_spender_not_permit2: changed(P2, `${APPROVAL}.spender`, OTHER),
};

const bodyOf = (reason: Reason): Json => {
  if (reason in UPTO_REASONS) return UPTO;
  return reason in PERMIT2_REASONS ? P2 : V2;
};

export const FIRST_FAMILY = 'Any request';

/** The families in the order of {@link REASONS}. */
const FAMILIES: readonly (readonly [string, object])[] = [
  [FIRST_FAMILY, REQUEST_REASONS],
  ['Exact', EIP3009_REASONS],
  ['Permit2', PERMIT2_REASONS],
  ['Upto', UPTO_REASONS],
  ['Channels', BATCH_SETTLEMENT_REASONS],
  ['This service', SERVICE_REASONS],
];

/** A section, since `extensions.diagnosis.docs` links to the heading of a reason. */
function sectionOf(reason: Reason): string {
  const { fault, retry, status }: ReasonFacts = REASONS[reason];
  const facts = [fault, retry, ...(status === undefined ? [] : [`HTTP ${status}`])].join(', ');
  const { reason: said, message } = refused(REQUESTS[reason] ?? bodyOf(reason), { reason });
  if (said !== reason) throw new Error(`the example of ${reason} is one of ${said}`);
  return `### ${reason}\n\n${facts}\n\n> ${message}\n`;
}

/** The part of `docs/errors.md` that begins with {@link FIRST_FAMILY}. */
export function errorReference(): string {
  return FAMILIES.flatMap(([title, family]) => [
    `## ${title}\n`,
    ...(Object.keys(family) as Reason[]).map(sectionOf),
  ]).join('\n');
}
