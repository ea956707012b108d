import type { Type } from '@nestjs/common';
import { MEANINGS } from '../../discovery/codes.js';
import {
  CatalogueAllowed,
  CatalogueDenials,
  CatalogueDenied,
  CatalogueEntries,
} from '../../discovery/operators/dto/moderation.response.js';
import { DENIALS_MOST } from '../../discovery/operators/moderation.js';
import { BODY_REFUSALS, jsonAnswer } from '../../platform/http/openapi.js';
import { describedWith } from './admin-refusals.openapi.js';

const NO_CATALOGUE = jsonAnswer('There is no catalogue.', 'Problem', {
  error: MEANINGS.catalogue_off,
  code: 'catalogue_off',
});
const AWAY = jsonAnswer(
  'The catalogue cannot be asked now, or this takes it too long (`catalogue_too_slow`).',
  'Problem',
  { error: 'The catalogue is unavailable. Try again.', code: 'catalogue_unavailable' },
);
const WRONG_QUERY = jsonAnswer(
  'A parameter is wrong, or unknown, or `after` is of what is not there any more (`invalid_cursor`).',
  'Problem',
  { error: 'payTo must be an address: 0x and 40 hex digits.', code: 'invalid_query' },
);
const WRONG_BODY = jsonAnswer('A field is wrong, or not known.', 'Problem', {
  error: 'kind must be one of payee, host.',
  code: 'invalid_request',
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
      409: jsonAnswer(`There are ${DENIALS_MOST} denials.`, 'Problem', {
        error: `${DENIALS_MOST} payees and hosts are denied, the most there may be. Allow some that no longer sell.`,
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
