import {
  type AnswersByStatus,
  describing,
  jsonAnswer,
  type JsonObject,
  KEY_NEEDED,
  NO_KEY,
  type OpenApiPart,
  problem,
  problemOf,
  RATE,
  text,
  TOO_MANY,
} from '../../platform/http/openapi.js';
import { NO_SUCH_SETTLEMENT } from '../../platform/http/settlement-id.pipe.js';
import { LOOK_UP_UNAVAILABLE } from '../../platform/http/unavailable.filter.js';
import { REASONS } from '../../protocol/reasons.js';
import { SignedReceipt } from '../receipts/dto/receipt.response.js';
import { historyOff, historyUnavailable, receiptsOff } from './history-problems.js';

/** Refusals of every route for sellers. */
const SELLER_REFUSALS: AnswersByStatus = {
  401: NO_KEY,
  403: problem('The API key lacks the scope `history`, or has no payees.', {
    error: REASONS.forbidden.meaning,
  }),
  429: TOO_MANY,
};

export const NO_ARCHIVE: AnswersByStatus = {
  501: problemOf('There is no history.', historyOff()),
  503: problemOf('The history is unavailable now. Try again.', historyUnavailable(undefined)),
};

export const FILE: JsonObject = {
  description: 'The file.',
  content: { 'text/csv': { schema: text }, 'application/x-ndjson': { schema: text } },
};

export const RECEIPT_ANSWERS: AnswersByStatus = {
  200: jsonAnswer('The receipt.', SignedReceipt, undefined, RATE),
  404: problem('The settlement is unknown, or its payee belongs to another key.', {
    error: NO_SUCH_SETTLEMENT,
    code: 'not_found',
  }),
  409: problem('No transfer on the chain proves this payment, or no block contains it yet.', {
    error: 'There is no receipt, because no block contains this payment.',
    code: 'not_paid',
  }),
  501: problemOf('Receipts are off.', receiptsOff(501)),
  503: problem('The look-up is unavailable now. Try again.', {
    error: LOOK_UP_UNAVAILABLE,
  }),
};

export const Describes = describing({ tag: 'History', security: KEY_NEEDED }, SELLER_REFUSALS);

/** Routes for sellers' own settlements. */
export const SELLERS_OPENAPI: OpenApiPart = {
  tags: [{ name: 'History', description: 'Payments to the payees of an API key.' }],
};
