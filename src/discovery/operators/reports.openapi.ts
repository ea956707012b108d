import { jsonAnswer, type JsonObject, OPEN, schemaRef } from '../../platform/http/openapi.js';
import {
  ADDRESS_SCHEMA as address,
  objectSchema,
  TEXT_SCHEMA as text,
} from '../../protocol/payment/wire-schemas.js';
import { REPORT_KINDS } from './report-store.js';
import { WORDS_MAX } from './reports.js';

const RATE = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
const kind = { type: 'string', enum: [...REPORT_KINDS] };

const object = (...args: Parameters<typeof objectSchema>): JsonObject =>
  objectSchema(...args) as JsonObject;

export const REPORT_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  CatalogueReport: object(
    {
      resource: {
        ...text,
        description: 'The URL of an entry, or one that its template stands for.',
      },
      payTo: { ...address, description: 'Needed where several are paid for the resource.' },
      network: { ...text, description: '`eip155:56`, or a name of V1 such as `bsc`.' },
      kind,
      words: { ...text, maxLength: WORDS_MAX },
    },
    ['resource', 'kind'],
  ),
  CatalogueReported: object({
    code: { type: 'string', enum: ['reported'] },
    ...{ message: text, network: text, payTo: address, resource: text, call: text, kind },
    type: { type: 'string', enum: ['http', 'mcp'] },
  }),
};

const refusal = (
  description: string,
  [error = '', code = '']: readonly string[],
  headers?: readonly string[],
): JsonObject => jsonAnswer(description, 'Problem', { error, code }, headers);

/** @param refusals - of every route that takes a body. */
export const reportOperation = (refusals: JsonObject): JsonObject => ({
  tags: ['Discovery'],
  summary: 'Reports an entry to the operator',
  description: 'Nobody else is shown it, and it changes nothing by itself. Once a day and entry.',
  security: OPEN,
  requestBody: {
    required: true,
    content: { 'application/json': { schema: schemaRef('CatalogueReport') } },
  },
  responses: {
    202: jsonAnswer('An operator will look at it.', 'CatalogueReported', undefined, RATE),
    400: refusal('A field is wrong: the message begins with it.', [
      ...['kind: must be one of not_answering, wrong_payee, misleading, malware, other.'],
      'invalid_report',
    ]),
    404: refusal('Not listed, or there is no catalogue: `reports_off`.', [
      ...['Nothing like this is listed here.', 'entry_unknown'],
    ]),
    ...refusals,
    409: refusal('You have reported it today, or it was reported often: `reported_enough`.', [
      ...['You have reported this entry today; it is being looked at.', 'already_reported'],
    ]),
    429: refusal(
      'Too many requests, or too many reports of one day: `too_many_reports`.',
      ['You have reported as many entries as one may in a day.', 'too_many_reports'],
      ['Retry-After', ...RATE],
    ),
    503: refusal('It cannot be taken now; `reports_full`: until some were looked at.', [
      ...['The catalogue cannot be asked now; ask again.', 'catalogue_unavailable'],
    ]),
  },
});
