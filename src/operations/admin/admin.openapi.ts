import { applyDecorators } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import { jsonAnswer, type OpenApiPart } from '../../platform/http/openapi.js';
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
        200: jsonAnswer('It is off the list and out of the count.', ClosedSettlement),
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
        200: jsonAnswer('The lane afterwards.', LaneView),
        404: jsonAnswer('There is no such lane.', 'Problem', {
          error: 'No such lane.',
          code: 'not_found',
        }),
      },
      description,
    ),
  );

/** What the operator page asks for; there only where API keys are in use. */
export const ADMIN_OPENAPI: OpenApiPart = {
  tags: [{ name: 'Operators', description: 'What the page at `/admin` shows and does.' }],
};
