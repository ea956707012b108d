import {
  BODY_REFUSALS,
  jsonAnswer,
  type JsonObject,
  OPEN,
  problem,
  RATE,
  schemaRef,
  TOO_MANY,
} from '../../platform/http/openapi.js';
import * as examples from './examples.js';
import { anything, object } from './values.js';

/** What sellers of some middlewares ask for before they answer 402. */
export function acceptsPath(name: 'Root' | 'V1' | 'V2', where: string): JsonObject {
  const example = name === 'V1' ? ACCEPTS_V1 : ACCEPTS_V2;
  return {
    post: {
      operationId: `accepts${name}`,
      tags: ['x402'],
      summary: `The offers that can be settled here (${where})`,
      description:
        'For sellers whose middleware asks its facilitator for the requirements of a 402. Offers of other ' +
        'networks and schemes are left out, and what a scheme needs in `extra` is filled in.',
      security: OPEN,
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemaRef(`Accepts${name}`), example } },
      },
      responses: {
        200: jsonAnswer('Those of the offers that are served.', 'AcceptsAnswer', undefined, RATE),
        400: problem(
          'The list is missing or malformed, or an offer cannot be met by any payment.',
          {
            error: 'accepts[0].payTo: expected an address.',
          },
        ),
        ...BODY_REFUSALS,
        429: TOO_MANY,
      },
    },
  };
}

const ACCEPTS_V2: JsonObject = {
  x402Version: 2,
  resource: { url: 'https://seller.example/report' },
  accepts: [examples.REQUIREMENTS_V2],
};
const ACCEPTS_V1: JsonObject = { x402Version: 1, accepts: [examples.REQUIREMENTS_V1] };

const offers = { type: 'array', maxItems: 64, items: anything };
const oneOf = (...versions: readonly number[]): JsonObject => ({
  type: 'integer',
  enum: [...versions],
});
const requestOf = (x402Version: JsonObject): JsonObject =>
  object({ x402Version, accepts: offers, resource: anything }, ['x402Version', 'accepts']);

export const ACCEPTS_SCHEMAS = {
  AcceptsRoot: requestOf(oneOf(1, 2)),
  AcceptsV1: requestOf(oneOf(1)),
  AcceptsV2: requestOf(oneOf(2)),
  AcceptsAnswer: object(
    {
      x402Version: oneOf(1, 2),
      accepts: offers,
      resource: anything,
      error: { type: 'string', const: '' },
    },
    ['x402Version', 'accepts'],
    { additionalProperties: false },
  ),
} satisfies JsonObject;
