import type { ReasonTable } from './reason-facts.js';

/** Faults in the form of the request (x402 V2 specification §9), for which the reference implementation throws. */
export const REQUEST_REASONS = {
  invalid_x402_version: {
    fault: 'seller',
    retry: 'never',
    meaning: 'The x402Version is missing, unknown, contradictory, or not the one of this endpoint.',
  },
  unsupported_scheme: {
    fault: 'seller',
    retry: 'never',
    meaning:
      'The requirements name a scheme that is not served here; `/supported` lists the schemes.',
  },
  invalid_network: {
    fault: 'seller',
    retry: 'never',
    meaning:
      'The requirements name a network that is not served here; `/supported` lists the networks.',
  },
  invalid_payload: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'A field of the payment payload is missing or of the wrong type.',
  },
  invalid_payment_requirements: {
    fault: 'seller',
    retry: 'never',
    meaning: 'A field of the payment requirements is missing or of the wrong type.',
  },
  unexpected_verify_error: {
    fault: 'facilitator',
    retry: 'same',
    meaning: 'Internal error of this service. The payment was not verified.',
  },
  unexpected_settle_error: {
    fault: 'facilitator',
    retry: 'same',
    meaning:
      'Internal error of this service. Repeat the request with the same payment to learn the state of its settlement.',
  },
} as const satisfies ReasonTable;
