import { applyDecorators } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import {
  count,
  jsonAnswer,
  listOf,
  object,
  type OpenApiPart,
  text,
} from '../../platform/http/openapi.js';
import { ADMIN_CATALOGUE_SCHEMAS } from './admin-catalogue.openapi.js';
import { ADMIN_HISTORY_SCHEMAS } from './admin-history.openapi.js';
import { describedWith, NO_REDIS } from './admin-refusals.openapi.js';

const described = describedWith({ 503: NO_REDIS });

/** The description of `GET /admin/api/overview`. */
export const DescribesOverview = (): MethodDecorator =>
  described('overview', 'Processes, queues and lanes', {
    200: jsonAnswer('As things stand.', 'Overview'),
  });

/** The description of `GET /admin/api/settlements`. */
export const DescribesNewest = (): MethodDecorator =>
  described('newestSettlements', 'The newest settlements, or those a text finds', {
    200: jsonAnswer('At most 50, newest first.', 'Settlements'),
    400: jsonAnswer('Not one short text, or a text together with `sale`.', 'Problem', {
      error: 'search must be one settlement id, transaction hash or payer.',
      code: 'invalid_query',
    }),
  });

export const DescribesClosing = (): MethodDecorator =>
  applyDecorators(
    ApiParam({ name: 'id', description: 'Settlement id.', schema: { type: 'string' } }),
    described(
      'closeUnclaimed',
      'Closes a payment that was not delivered',
      {
        200: jsonAnswer('It is off the list and out of the count.', 'ClosedSettlement'),
        404: jsonAnswer('It is not on the list.', 'Problem', {
          error: 'This settlement is not among those paid and not delivered.',
          code: 'not_found',
        }),
      },
      'For what was delivered or refunded by hand. The sale stays open: a repeated settle of its seller still succeeds. With a history it is in the audit.',
    ),
  );

/** The description of what is done to a lane. */
export const DescribesSwitch = (
  operationId: string,
  summary: string,
  description: string,
): MethodDecorator =>
  applyDecorators(
    ApiParam({
      name: 'lane',
      description: 'Chain id and signer, as in `56:0x…`.',
      schema: { type: 'string' },
    }),
    described(
      operationId,
      summary,
      {
        200: jsonAnswer('The lane afterwards.', 'Lane'),
        404: jsonAnswer('There is no such lane.', 'Problem', {
          error: 'No such lane.',
          code: 'not_found',
        }),
      },
      description,
    ),
  );

/** Of the account that refills the lanes. */
const TREASURY = object(
  {
    dailyCapWei: { ...text, description: 'What it may cost a day (UTC).' },
    spentTodayWei: { ...text, description: 'Reserved or spent since 0:00 UTC, gas included.' },
  },
  { lastRefill: object({ to: text, valueWei: text, accountNonce: count, at: count }) },
);

/** What the operator page asks for; there only where API keys are in use. */
export const ADMIN_OPENAPI: OpenApiPart = {
  tags: [{ name: 'Operators', description: 'What the page at `/admin` shows and does.' }],
  schemas: {
    ...ADMIN_HISTORY_SCHEMAS,
    ...ADMIN_CATALOGUE_SCHEMAS,
    ClosedSettlement: object({ settlementId: text }),
    Lane: object(
      {
        lane: text,
        chainId: count,
        signer: text,
        process: text,
        trouble: { type: ['string', 'null'], description: 'Why it takes no work now.' },
        balance: { ...text, description: 'Whole native coins.' },
        settlementsLeft: {
          ...count,
          description: 'What the balance pays for at the price of now.',
        },
        inFlight: count,
        window: count,
        nextNonce: count,
        oldestNonce: count,
        oldestInFlightMs: count,
        inclusionMs: count,
        perSecond: { type: 'number' },
        silentMs: count,
        paused: {
          anyOf: [object({ at: count, by: text }), { type: 'null' }],
          description: 'Since when, and by whose key.',
        },
        retiring: {
          anyOf: [object({ at: count, by: text }), { type: 'null' }],
          description: 'Likewise, where an operator retires it.',
        },
        attempts: listOf(
          object({
            accountNonce: count,
            kind: { type: 'string', enum: ['single', 'batch', 'noop', 'fund', 'refill'] },
            settlementIds: listOf(text),
            transactions: listOf(text),
            maxFeePerGasWei: text,
            ageMs: count,
          }),
        ),
      },
      {
        isShort: {
          type: 'boolean',
          description:
            'It was offered what costs more than it has, though it may pay for much else.',
        },
        treasury: TREASURY,
      },
    ),
    Overview: object({
      version: text,
      at: { ...count, description: 'Milliseconds since the epoch.' },
      apiKeys: {
        type: 'object',
        required: ['keys', 'loadedAt'],
        properties: { keys: count, loadedAt: count, code: text },
      },
      history: object({
        enabled: { type: 'boolean', description: 'Whether there is a database.' },
        webhooks: { type: 'boolean' },
        reconciles: { type: 'boolean', description: 'Every day, by itself.' },
        catalogue: { type: 'boolean', description: 'Whether there is a catalogue.' },
      }),
      settles24h: {
        ...object({
          succeeded: count,
          pending: count,
          refused: count,
          reasons: listOf(
            object({
              reason: text,
              fault: { type: 'string', enum: ['buyer', 'seller', 'facilitator', 'chain'] },
              count,
              sellers: listOf(object({ key: text, count })),
            }),
          ),
        }),
        description: 'How settles were answered in this hour and the 23 before it.',
      },
      processes: listOf(object({ process: text, roles: listOf(text), version: text })),
      networks: listOf(
        object(
          {
            network: text,
            queue: object({ queued: count, oldestQueuedMs: count, unfinished: count }),
            unclaimed: object({
              count: { ...count, description: 'Paid and not delivered.' },
              oldestMs: count,
              sums: listOf(
                object({
                  asset: text,
                  count,
                  amount: { ...text, description: 'In atomic units.' },
                }),
              ),
            }),
            headAgeMs: { type: ['integer', 'null'] },
            endpoints: object({ reachable: count, all: count }),
            lanes: listOf('Lane'),
          },
          {
            coin: { ...text, description: 'Symbol of the native coin, where it is known.' },
            explorer: {
              ...text,
              description: 'Of a block explorer, with `/address/…` and `/tx/…` below it.',
            },
          },
        ),
      ),
    }),
  },
};
