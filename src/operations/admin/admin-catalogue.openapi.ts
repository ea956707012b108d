import type { Type } from '@nestjs/common';
import { catalogueUnavailable } from '../../discovery/catalogue-problems.js';
import { MEANINGS } from '../../discovery/codes.js';
import {
  CatalogueAllowed,
  CatalogueDenials,
  CatalogueDenied,
  CatalogueEntries,
} from '../../discovery/operators/dto/moderation.response.js';
import { DENIALS_MOST } from '../../discovery/operators/moderation.js';
import { BODY_REFUSALS, jsonAnswer, problem, problemOf } from '../../platform/http/openapi.js';
import { describedWith } from './admin-refusals.openapi.js';

const NO_CATALOGUE = problem('The catalogue is off.', {
  error: MEANINGS.catalogue_off,
  code: 'catalogue_off',
});
const AWAY = problemOf(
  'The catalogue does not answer, or the query takes too long (`catalogue_too_slow`).',
  catalogueUnavailable(undefined),
);
const WRONG_QUERY = problem(
  'A parameter is malformed or unknown, or the entry of `after` no longer exists (`invalid_cursor`).',
  {
    error: 'payTo must be an address: 0x and 40 hex digits.',
    code: 'invalid_query',
    path: 'payTo',
    expected: 'an address: 0x and 40 hex digits',
    got: 'text of 2 characters',
  },
);
const WRONG_BODY = problem('A field is malformed or unknown.', {
  error: 'kind must be one of payee, host.',
  code: 'invalid_request',
  path: 'kind',
  expected: 'one of payee, host',
  got: 'text of 5 characters',
});

const described = describedWith({ 501: NO_CATALOGUE, 503: AWAY });

const read = (operationId: string, summary: string, answer: Type): MethodDecorator =>
  described(operationId, summary, {
    200: jsonAnswer('The answer.', answer),
    400: WRONG_QUERY,
  });

/** The description of `GET /admin/api/catalogue/entries`. */
export const DescribesEntries = (): MethodDecorator =>
  read(
    'moderatedEntries',
    'Entries of the catalogue, listed or not, and what hides them',
    CatalogueEntries,
  );

/** The description of `GET /admin/api/catalogue/denials`. */
export const DescribesDenials = (): MethodDecorator =>
  read('catalogueDenials', 'Payees and hosts that are not listed, newest first', CatalogueDenials);

/** The description of `POST /admin/api/catalogue/deny`. */
export const DescribesDeny = (): MethodDecorator =>
  described(
    'denyInCatalogue',
    'Denies a payee or a host',
    {
      200: jsonAnswer('It is done.', CatalogueDenied),
      400: WRONG_BODY,
      ...BODY_REFUSALS,
      409: problem(`There are ${DENIALS_MOST} denials.`, {
        error: `${DENIALS_MOST} payees and hosts are denied, which is the maximum. First allow a payee or a host that no longer sells.`,
        code: 'denials_full',
      }),
    },
    'At once, on every network: it hides what there is and refuses what comes. What operators did has it.',
  );

/** The description of `POST /admin/api/catalogue/allow`. */
export const DescribesAllow = (): MethodDecorator =>
  described(
    'allowInCatalogue',
    'Allows what was denied',
    { 200: jsonAnswer('It is done.', CatalogueAllowed), 400: WRONG_BODY, ...BODY_REFUSALS },
    'Listings that were kept meanwhile are shown again. The audit trail has the action.',
  );
