import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiParam } from '@nestjs/swagger';
import {
  Answers,
  jsonAnswer,
  KEY_IF_IN_USE,
  NO_KEY,
  OPEN,
  RATE,
  TOO_MANY,
} from '../../platform/http/openapi.js';
import { NO_SUCH_SETTLEMENT } from '../../platform/http/settlement-id.pipe.js';
import { LOOK_UP_UNAVAILABLE } from '../../platform/http/unavailable.filter.js';
import { SETTLEMENT_ID_SCHEMA } from '../../protocol/payment/wire-schemas.js';
import { REASONS } from '../../protocol/reasons.js';
import { SEARCH_USAGE } from '../status/dto/settlement-query.dto.js';
import { WAIT_SECONDS_MAX } from '../status/settlement-waits.js';
import * as examples from './examples.js';

const NOT_KNOWN = {
  error: NO_SUCH_SETTLEMENT,
  code: 'not_found',
};
const LATER = jsonAnswer('The look-up is unavailable now. Try again.', 'Problem', {
  error: LOOK_UP_UNAVAILABLE,
});
/** The description of `GET /v2/settlements/:id`. */
export const DescribesSettlement = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: 'settlement',
      tags: ['Look-ups'],
      summary: 'The state of a settlement',
      description:
        'Whether it landed; not whether it is yours to sell. With `wait` the answer comes when the state changes, ' +
        'at the latest after so many seconds; at once where nothing happens to the settlement any more. ' +
        'Where too many wait already it comes at once too, with `Retry-After`.',
      security: OPEN,
    }),
    ApiParam({
      name: 'id',
      description: 'From the header `Settlement-Id`.',
      schema: SETTLEMENT_ID_SCHEMA,
    }),
    Answers({
      200: jsonAnswer('The settlement.', 'Settlement', examples.SETTLEMENT, [
        'Retry-After',
        ...RATE,
      ]),
      400: jsonAnswer('A wait that is no number of seconds, or too long.', 'Problem', {
        error: `wait must be a number of seconds, 0 to ${WAIT_SECONDS_MAX}.`,
        code: 'invalid_query',
        path: 'wait',
        expected: `a number of seconds, 0 to ${WAIT_SECONDS_MAX}`,
        got: '60',
      }),
      404: jsonAnswer('Not known.', 'Problem', NOT_KNOWN),
      429: TOO_MANY,
      503: LATER,
    }),
  );

/** The description of `GET /v2/settlements`. */
export const DescribesSettlements = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: 'findSettlements',
      tags: ['Look-ups'],
      summary:
        'Settlements of a transaction or a payment identifier, the settlement of an authorization, or the list of a seller',
      description:
        'Either `transaction`, or `network`, `asset`, `payer` and `nonce`: for what neither the ledger nor the ' +
        'archive knows the chain is asked. Or `paymentId`, with the API key of the seller, or else `payTo` and `payer`. ' +
        'Without any of these it lists what was paid to the payees of an API key with the scope `history`, ' +
        'newest first, from the history in PostgreSQL.',
      security: KEY_IF_IN_USE,
    }),
    Answers({
      200: jsonAnswer('The settlement, or the page of a list.', 'FoundSettlement', undefined, RATE),
      400: jsonAnswer('The query is incomplete, or a value is malformed.', 'Problem', {
        error: SEARCH_USAGE,
        code: 'invalid_query',
      }),
      401: {
        ...NO_KEY,
        description: 'A list without an API key, or an unknown key with a list or a `paymentId`.',
      },
      403: jsonAnswer(
        'A list with an API key without the scope `history`, or of a payee it does not see.',
        'Problem',
        { error: REASONS.forbidden.meaning },
      ),
      404: jsonAnswer('Not known, or not used on the chain.', 'ProblemOrChainUse', NOT_KNOWN),
      429: TOO_MANY,
      501: jsonAnswer('A list where there is no history.', 'Problem', {
        error: 'The history is off: `DATABASE_URL` is not set.',
        code: 'history_off',
      }),
      503: LATER,
    }),
  );
