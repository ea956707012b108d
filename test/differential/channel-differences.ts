/**
 * Where this service answers a message about a channel otherwise than the reference, and why. Answers are those of
 * this service.
 */

const BS = 'invalid_batch_settlement_evm_';
const MALFORMED = 'invalid invalid_payload, a payer';
const BLANK = 'balance "0" totalClaimed "0" withdrawRequestedAt 0 refundNonce "0", a payer';

/** What does not fit its type is malformed, whatever check of the reference it would fail. */
const malformed = (...names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [`verify ${name}`, MALFORMED]));

export const CHANNEL_DIFFERENCES: Readonly<Record<string, string>> = {
  ...malformed(
    'deposit: of nothing',
    'voucher: channelId is short',
    'voucher: total is negative',
    'voucher: total has more than 128 bits',
    'voucher: signature is not hex',
    'voucher: signature is a number',
    'voucher: signature is null',
    'deposit: channelId is short',
    'deposit: total is negative',
    'deposit: total has more than 128 bits',
    'deposit: amount is negative',
    'deposit: amount has more than 128 bits',
    'deposit: signature is not hex',
    'permit2 deposit: signature is not hex',
  ),
  // JSON has no value that is there and undefined.
  'verify voucher: signature is missing': `invalid ${BS}payload_type`,
  // The reference fails to read the token where it should have code.
  'verify deposit: token without code': 'invalid asset_not_deployed_contract, a payer',
  // The reference judges it by one method and carries it out by the other.
  'verify deposit: extra names an unknown method': `invalid ${BS}payload_type, a payer`,
  // The reference takes these vouchers, and the contract takes none of them: one holds up all that is claimed with it.
  'verify voucher: signature has a high s': `invalid ${BS}voucher_signature, a payer`,
  'verify voucher: v as 0': `invalid ${BS}voucher_signature, a payer`,
  // What the token and Permit2 take in another spelling is put in order.
  'verify deposit: v as 0': `valid ${BLANK}`,
  'verify permit2 deposit: v as 0': `valid ${BLANK}`,
  'verify permit2 deposit: witness in upper case': `valid ${BLANK}`,
  // Nothing new is to be claimed: no gas is spent on it.
  'settle claim: that is claimed': 'success',
  'settle claim: below what is claimed': 'success',
  // A repeated request for a payout that is done gets its answer: a seller may have lost the first one.
  'settle settle: where nothing is due': 'success 3150, a transaction',
};
