import { applyDecorators, type Type } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import { historyOff, historyUnavailable } from '../../history/sellers/history-problems.js';
import { type Answer, jsonAnswer, problem, problemOf, text } from '../../platform/http/openapi.js';
import { describedWith, NO_REDIS } from './admin-refusals.openapi.js';
import { SettlementLife } from './dto/settlement-life.response.js';

const NO_HISTORY = problemOf('There is no history.', historyOff());
const AWAY = problemOf(
  'The history does not answer, or the query takes too long (`history_too_slow`).',
  historyUnavailable(undefined),
);
const WRONG = problem('A parameter is wrong or unknown, or the cursor belongs to another list.', {
  error: '`from` is required without `payTo` and `payer`.',
  code: 'invalid_query',
  path: 'from',
  expected: 'a day, or a time with its zone',
  got: 'nothing',
});
const UNKNOWN = problem('The history has no entry with this id.', {
  error: 'The history has no entry with this id.',
  code: 'not_found',
});
const found = (schema: Type | string): Answer => jsonAnswer('The answer.', schema);

const ofHistory = describedWith({ 400: WRONG, 501: NO_HISTORY, 503: AWAY });
const ofRedis = describedWith({ 503: NO_REDIS });
const HasId = (): MethodDecorator => ApiParam({ name: 'id', schema: { ...text, minLength: 1 } });

/** The description of a list of the history. */
export const DescribesList = (
  id: string,
  summary: string,
  schema: Type | string,
  description?: string,
): MethodDecorator => ofHistory(id, summary, { 200: found(schema) }, description);

/** The description of a list that belongs to the id in the path. */
export const DescribesListOf = (
  id: string,
  summary: string,
  schema: Type | string,
): MethodDecorator =>
  applyDecorators(HasId(), ofHistory(id, summary, { 200: found(schema), 404: UNKNOWN }));

/** The description of `GET /admin/api/settlements/:id`. */
export const DescribesLife = (): MethodDecorator =>
  applyDecorators(
    HasId(),
    ofRedis(
      'settlementLife',
      'The whole life of one settlement',
      { 200: found(SettlementLife), 404: UNKNOWN },
      'From Redis or the history: its sale, its transactions, its acknowledged answers, the findings of reconciliation. `history.status` is whether the history could be read.',
    ),
  );
