/**
 * Where this service answers otherwise than the reference, on purpose. A case of the differential test
 * that differs must be matched by exactly one of these; one that is matched by nothing fails.
 */
export interface Difference {
  /** Names of the cases it is about. */
  readonly cases: RegExp;
  readonly reference: string;
  readonly ours: string;
  readonly why: string;
}

export const DIFFERENCES: readonly Difference[] = [
  {
    cases: /v as [01]$/,
    reference: 'invalid invalid_exact_evm_transaction_simulation_failed',
    ours: 'valid',
    why: 'v 0 or 1 recovers to the payer. It is presented on chain as 27 or 28, and succeeds.',
  },
  {
    cases: /^(?:permit2|upto): v as [01]$/,
    reference: 'invalid permit2_simulation_failed',
    ours: 'valid',
    why: 'The same for Permit2.',
  },
  {
    cases: /^v1: asset without code/,
    reference: 'valid',
    ours: 'invalid asset_not_deployed_contract',
    why: 'A call to an address without code succeeds and pays nobody; only V2 of the reference looks.',
  },
  {
    cases: /^undeployed: (?:wrapped twice|v1, wrapped twice)$/,
    reference: 'invalid invalid_exact_evm_transaction_simulation_failed',
    ours: 'invalid invalid_exact_evm_signature',
    why: 'No wallet makes a wrapper in a wrapper. It is refused before any code runs, and says why.',
  },
  {
    cases: /^undeployed: with more calldata than is read$/,
    reference: 'valid',
    ours: 'invalid invalid_exact_evm_signature',
    why: 'The length of a signature is bounded; as calldata it would cost more than a settlement may.',
  },
  {
    cases: /needs more gas than one settlement may cost/,
    reference: 'valid',
    ours: 'invalid gas_limit_exceeded',
    why: 'Any ERC-20 is served, so its code may be hostile: gas per settlement is capped.',
  },
  {
    cases: /^(?:eip3009|permit2): amount 0$/,
    reference: '*',
    ours: 'invalid amount_too_small',
    why: 'Anybody can sign a payment of nothing, from an account that owns nothing, and it costs gas. `MIN_AMOUNTS` can allow it.',
  },
  {
    cases: /^eip3009: to oneself$/,
    reference: 'valid',
    ours: 'invalid payment_to_oneself',
    why: 'It costs gas and pays nobody. `PAYMENTS_TO_ONESELF` can allow it.',
  },
  {
    cases:
      /: (?:value|amount|deadline|validBefore) is (?:empty|blank|padded with blanks|true|a list)/,
    reference: '*',
    ours: 'invalid invalid_payload',
    why: 'What is not a number is refused as malformed, rather than read as whatever BigInt makes of it.',
  },
  {
    cases: /: required amount is (?:empty|blank)/,
    reference: '*',
    ours: 'invalid invalid_payment_requirements',
    why: 'The same in the requirements.',
  },
  {
    cases: /^eip3009: from is (?:not an address|a number)/,
    reference: 'invalid invalid_exact_evm_signature, payer as sent',
    ours: 'invalid invalid_exact_evm_signature, no payer',
    why: 'Only what parses as an address is repeated.',
  },
  {
    cases:
      /^(?:upto: (?:nonce is a number|(?:witness|witness\.facilitator|permitted|signature) is missing|authorization is null|signature is (?:a number|null))|eip3009: scheme is another)$/,
    reference: 'invalid unsupported_payload_type, payer of no characters',
    ours: 'invalid unsupported_payload_type, payer as sent',
    why: 'Whose payment it was to be is known, whatever else is wrong with its shape.',
  },
];
