import type { Finding } from '../../diagnosis/finding.js';
import type { Payment, UptoClaim } from '../../payment/payment.js';
import { type Explanations, wrongNetwork, wrongScheme } from '../explain-frame.js';
import { PERMIT2_EXPLANATIONS } from '../permit2/explain.js';

const AUTHORIZATION = 'paymentPayload.payload.permit2Authorization';

/** Where a payment of at most what was signed is wrong, for each reason of its checks. */
export const UPTO_EXPLANATIONS: Explanations<UptoClaim> = {
  ...PERMIT2_EXPLANATIONS,
  invalid_upto_evm_scheme: wrongScheme('upto'),
  invalid_upto_evm_network_mismatch: wrongNetwork,
  upto_facilitator_mismatch: (_, { facilitator }) => ({
    path: `${AUTHORIZATION}.witness.facilitator`,
    expected: 'extra.facilitatorAddress of /supported',
    got: facilitator,
  }),
  invalid_upto_evm_payload_settlement_exceeds_amount: exceedsMaximum,
  upto_amount_exceeds_permitted: exceedsMaximum,
};

function exceedsMaximum({ requirements }: Payment, { amount }: UptoClaim): Finding {
  return {
    path: 'paymentRequirements.amount',
    expected: `at most ${amount}, which the payer signed`,
    got: requirements.amount,
  };
}
