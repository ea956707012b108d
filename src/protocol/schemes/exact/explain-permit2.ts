import type { Permit2Claim } from '../../payment/payment.js';
import { type Explanations, wrongNetwork, wrongScheme } from '../explain-frame.js';
import { PERMIT2_EXPLANATIONS } from '../permit2/explain.js';

/** Where a payment by Permit2 is wrong, for each reason of its checks. */
export const EXPLANATIONS: Explanations<Permit2Claim> = {
  ...PERMIT2_EXPLANATIONS,
  unsupported_payload_type: wrongScheme('exact'),
  invalid_exact_evm_network_mismatch: wrongNetwork,
};
