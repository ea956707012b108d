import { applyDecorators } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import { jsonAnswer, type OpenApiPart, problem } from '../../platform/http/openapi.js';
import { describedWith, NO_REDIS } from './admin-refusals.openapi.js';
import { ClosedSettlement, LaneView, Overview } from './dto/admin.response.js';

const described = describedWith({ 503: NO_REDIS });

/** The description of `GET /admin/api/overview`. */
export const DescribesOverview = (): MethodDecorator =>
  described('overview', 'Processes, queues and lanes', {
    200: jsonAnswer('As things stand.', Overview),
  });

/** The description of `GET /admin/api/settlements`. */
export const DescribesNewest = (): MethodDecorator =>
  described(
    'newestSettlements',
    'The newest settlements, or those a text finds',
    {
      200: jsonAnswer('At most 50, newest first.', 'Settlements'),
      400: jsonAnswer('A parameter is wrong, or does not go with the others.', 'Problem', {
        error: 'search must be one settlement id, transaction hash or payer.',
        code: 'invalid_query',
        path: 'search',
        expected: 'one settlement id, transaction hash or payer',
        got: 'text of 9 characters',
      }),
    },
    'With `sale` a page can have fewer than 50, or none, and a `nextCursor`: a search of many small payments goes on there.',
  );

export const DescribesClosing = (): MethodDecorator =>
  applyDecorators(
    ApiParam({ name: 'id', description: 'Settlement id.', schema: { type: 'string' } }),
    described(
      'closeUnclaimed',
      'Closes a payment that was not delivered',
      {
        200: jsonAnswer(
          'It is off the list and out of the count, now or since an earlier request.',
          ClosedSettlement,
        ),
        404: jsonAnswer('It is not on the list.', 'Problem', {
          error: 'Only a settlement that is paid and undelivered can be closed.',
          code: 'not_found',
        }),
        503: problem(
          'Redis does not answer, or the settlement can only be in the history, which does not answer.',
          { error: 'Redis is unavailable. Try again.' },
        ),
      },
      'For what was delivered or refunded by hand. The sale stays open: a repeated settle of its seller still succeeds. With a history it is in the audit.',
    ),
  );

/** The description of an action on a lane. */
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
        200: jsonAnswer('The lane afterwards.', LaneView),
        404: jsonAnswer('There is no such lane.', 'Problem', {
          error: 'There is no such lane.',
          code: 'not_found',
        }),
      },
      description,
    ),
  );

/** Routes of the operator page; only where API keys are in use. */
export const ADMIN_OPENAPI: OpenApiPart = {
  tags: [{ name: 'Operators', description: 'What the page at `/admin` shows and does.' }],
};
