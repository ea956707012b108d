/**
 * Where a settle of this service ends otherwise than one of the reference, on purpose. A case that
 * differs must be matched by one of these; one that is matched by nothing fails.
 */
export interface SettleDifference {
  /** Names of the cases it is about. */
  readonly cases: RegExp;
  /** Verdict, reason, amount; then what is odd about the payer, and whether there is a transaction. */
  readonly reference: RegExp;
  readonly ours: RegExp;
  readonly why: string;
}

export const SETTLE_DIFFERENCES: readonly SettleDifference[] = [
  {
    cases: /v as [01]$/,
    reference: /^failure /,
    ours: /^success( 1000)?, a transaction$/,
    why: 'v 0 or 1 recovers to the payer. It is presented on chain as 27 or 28, and succeeds.',
  },
  {
    cases: /nonce used|presented by another meanwhile$/,
    reference: /^failure /,
    ours: /^failure (invalid_exact_evm_nonce_already_used|permit2_invalid_nonce), a transaction$/,
    why: 'What was used is said to be used, by the transaction that used it.',
  },
  {
    cases: /^(?:eip3009|v1|permit2|undeployed): /,
    reference: /^failure (\w*transaction_failed\b|The contract function|Execution reverted)/,
    ours: /^failure [a-z0-9_]+$/,
    why: 'The reference does not simulate a settle and says what its node said. Here a settle is refused for the reason that verify gives, before gas is spent.',
  },
  {
    cases: /^eip3009: (?:signed for another (?:name|version)|signature has a high s)$/,
    reference: /^failure invalid_exact_evm_signature$/,
    ours: /^failure invalid_exact_evm_(token_name_mismatch|token_version_mismatch|transaction_simulation_failed)$/,
    why: 'The same: a settle gives the reason that verify gives, for which the reference needs its simulation.',
  },
  {
    cases:
      /^undeployed: (?:by a factory that (?:does nothing|makes another wallet)|of an account with a key of another|pays at another time|signed (?:by another|for another (?:name|version))|with (?:v less 27|an empty signature|a longer signature))$/,
    reference: /^failure invalid_exact_evm_signature$/,
    ours: /^failure invalid_exact_evm_(token_name_mismatch|token_version_mismatch|transaction_simulation_failed)$/,
    why: 'The same. And nothing is sent: the reference deploys the wallet before it finds out.',
  },
  {
    cases: /^undeployed: of an account with a key, by a factory that reverts$/,
    reference: /^failure invalid_exact_evm_transaction_failed$/,
    ours: /^success, a transaction$/,
    why: 'What a key has signed needs no wallet: its wrapper is taken off, and the factory is not called.',
  },
  {
    cases: /^undeployed: by a factory that answers at length$/,
    reference: /^success, a transaction$/,
    ours: /^failure invalid_exact_evm_signature$/,
    why: 'Answers of calls are read to a bound. What is longer is no answer, and no factory in use says more than an address.',
  },
  {
    cases: /^undeployed: (?:v1, )?wrapped twice$/,
    reference: /^(success, a transaction|failure The contract function)/,
    ours: /^failure invalid_exact_evm_signature$/,
    why: 'No wallet makes a wrapper in a wrapper, and each would run one more factory. It is refused before any code runs.',
  },
  {
    cases: /^(?:eip3009|permit2): amount 0$/,
    reference: /^(?:success, a transaction|failure permit2_invalid_amount)$/,
    ours: /^failure amount_too_small$/,
    why: 'Anybody can sign a payment of nothing, from an account that owns nothing, and it costs gas.',
  },
  {
    cases: /^eip3009: to oneself$/,
    reference: /^success, a transaction$/,
    ours: /^failure payment_to_oneself$/,
    why: 'It costs gas and pays nobody.',
  },
  {
    cases: /^v1: asset without code/,
    reference: /^failure invalid_exact_evm_transfer_event_mismatch, a transaction$/,
    ours: /^failure asset_not_deployed_contract$/,
    why: 'A call to an address without code succeeds and pays nobody: it is not sent.',
  },
  {
    cases: /needs more gas than one settlement may cost/,
    reference: /^success, a transaction$/,
    ours: /^failure gas_limit_exceeded$/,
    why: 'Any ERC-20 is served, so its code may be hostile: gas per settlement is capped.',
  },
  {
    cases:
      /: (?:value|amount|deadline|validBefore) is (?:empty|blank|padded with blanks|true|a list)/,
    reference: /^/,
    ours: /^failure invalid_payload$/,
    why: 'What is not a number is refused as malformed, rather than read as whatever BigInt makes of it.',
  },
  {
    cases: /: required amount is (?:empty|blank)|^upto: charged '/,
    reference: /^/,
    ours: /^failure invalid_payment_requirements$/,
    why: 'The same in the requirements. The reference settles 0 for an empty amount, and then serves for nothing.',
  },
  {
    cases: /^eip3009: from is (?:not an address|a number)/,
    reference: /^failure invalid_exact_evm_signature$/,
    ours: /^failure invalid_exact_evm_signature, no payer$/,
    why: 'Only what parses as an address is repeated.',
  },
  {
    cases: /^(?:upto|eip3009): /,
    reference: /^failure unsupported_payload_type, payer $/,
    ours: /^failure unsupported_payload_type$/,
    why: 'Whose payment it was to be is known, whatever else is wrong with its shape.',
  },
];
