import { jsonAnswer, type JsonObject, KEY_IF_IN_USE, OPEN } from '../../platform/http/openapi.js';
import { ADDRESS_SCHEMA, NONCE_SCHEMA, WHEN_SCHEMA } from '../../protocol/payment/wire-schemas.js';
import { REASONS } from '../../protocol/reasons.js';
import { SETTLEMENT_STATES } from '../../settlement/model/settlement.js';
import { WAIT_SECONDS_MAX } from '../status/settlement-waits.js';
import * as examples from './examples.js';
import { CAIP2, SETTLEMENT_ID } from './values.js';

/** Headers of answers that are counted against a limit. */
export const RATE = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

/** As `../status/settlement-query.ts` takes them. */
const SEARCHED_BY: JsonObject = {
  transaction: { type: 'string', pattern: '^0x[0-9a-fA-F]{64}$' },
  network: { type: 'string', pattern: CAIP2 },
  asset: ADDRESS_SCHEMA,
  payer: ADDRESS_SCHEMA,
  nonce: NONCE_SCHEMA,
  paymentId: { type: 'string', pattern: '^[a-zA-Z0-9_-]{16,128}$' },
  payTo: ADDRESS_SCHEMA,
  // Of lists; read by the history.
  from: {
    ...WHEN_SCHEMA,
    description: 'Claimed at or after: a day (UTC), or a time with its zone.',
  },
  to: { ...WHEN_SCHEMA, description: 'Claimed before.' },
  state: { type: 'string', enum: SETTLEMENT_STATES },
  limit: { type: 'integer', minimum: 1, maximum: 500, default: 100 },
  cursor: { type: 'string', description: '`nextCursor` of the page before.' },
};

const NOT_KNOWN = { error: 'There is nothing here.' };
const LATER = jsonAnswer('Neither known nor unknown now: ask again.', 'Problem', {
  error: 'This cannot be looked up now; ask again.',
});
export const TOO_MANY = jsonAnswer(
  'Too many requests.',
  'Problem',
  {
    error: 'Too many requests; `Retry-After` says when to ask again.',
    reason: 'rate_limited',
  },
  ['Retry-After', ...RATE],
);

/** The paths by which anyone asks what became of a payment. */
export const LOOK_UPS: Record<string, JsonObject> = {
  '/v2/settlements/{id}': {
    get: {
      operationId: 'settlement',
      tags: ['Look-ups'],
      summary: 'What became of a settlement',
      description:
        'Whether it landed; not whether it is yours to sell. With `wait` the answer comes when the state changes, ' +
        'at the latest after so many seconds; at once where nothing happens to the settlement any more. ' +
        'Where too many wait already it comes at once too, with `Retry-After`.',
      security: OPEN,
      parameters: [
        {
          name: 'id',
          in: 'path',
          required: true,
          description: 'From the header `Settlement-Id`.',
          schema: { type: 'string', pattern: SETTLEMENT_ID },
        },
        {
          name: 'wait',
          in: 'query',
          description: 'Seconds.',
          schema: { type: 'integer', minimum: 0, maximum: WAIT_SECONDS_MAX, default: 0 },
        },
      ],
      responses: {
        200: jsonAnswer('The settlement.', 'Settlement', examples.SETTLEMENT, [
          'Retry-After',
          ...RATE,
        ]),
        400: jsonAnswer('A wait that is no number of seconds, or too long.', 'Problem', {
          error: `wait must be a number of seconds, 0 to ${WAIT_SECONDS_MAX}.`,
        }),
        404: jsonAnswer('Not known.', 'Problem', NOT_KNOWN),
        429: TOO_MANY,
        503: LATER,
      },
    },
  },
  '/v2/settlements': {
    get: {
      operationId: 'findSettlements',
      tags: ['Look-ups'],
      summary:
        'Settlements of a transaction or a payment identifier, the one of an authorization, or a seller’s list',
      description:
        'Either `transaction`, or `network`, `asset`, `payer` and `nonce`: for what neither the ledger nor the ' +
        'archive knows the chain is asked. Or `paymentId`, with the API key of the seller, or else `payTo` and `payer`. ' +
        'Without any of these it lists what was paid to the payees of an API key with the scope `history`, ' +
        'newest first, from the history in PostgreSQL.',
      security: KEY_IF_IN_USE,
      parameters: Object.entries(SEARCHED_BY).map(([name, schema]) => ({
        name,
        in: 'query',
        schema,
      })),
      responses: {
        200: jsonAnswer('What was found.', 'FoundSettlement', undefined, RATE),
        400: jsonAnswer('Another query than those, or a value that is none.', 'Problem', {
          error:
            'Either transaction, or network, asset, payer and nonce, or paymentId are expected.',
        }),
        401: jsonAnswer(
          'A list without an API key.',
          'Problem',
          { error: REASONS.unauthorized.meaning, reason: 'unauthorized' },
          ['WWW-Authenticate'],
        ),
        403: jsonAnswer(
          'A list with an API key without the scope `history`, or of a payee it does not see.',
          'Problem',
          { error: REASONS.forbidden.meaning, reason: 'forbidden' },
        ),
        404: jsonAnswer('Not known, or not used on the chain.', 'ProblemOrChainUse', NOT_KNOWN),
        429: TOO_MANY,
        501: jsonAnswer('A list where there is no history.', 'Problem', {
          error: 'This deployment keeps no history of settlements.',
          code: 'history_off',
        }),
        503: LATER,
      },
    },
  },
};
