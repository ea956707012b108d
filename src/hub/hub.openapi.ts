import {
  type Json,
  jsonAnswer,
  type JsonObject,
  type OpenApiPart,
  schemaRef,
} from '../platform/http/openapi.js';
import {
  DESCRIPTOR,
  NAME,
  NOT_FOUND,
  operation,
  OWNER,
  PAGE,
  query,
  refusal,
  TAKEN_DOWN,
} from './hub-operation.openapi.js';
import { HUB_SCHEMAS } from './hub-schemas.openapi.js';
import { LINK_PATHS, LINK_SCHEMAS } from './links/links.openapi.js';
import { NAME_MAX_BYTES } from './names.js';
import { SALES_HEADERS, SALES_SCHEMAS } from './sales/sales.openapi.js';

/** An empty one asks for none. */
const DIGEST = { pattern: '^((0[xX])?[0-9a-fA-F]{64})?$' };
const FILE = query('file', 'The id it was stored under.', true, { minLength: 1 });

/** Fields may come in a form instead of the query, under their names in any case. */
const FORM: JsonObject = {
  required: false,
  content: {
    'application/x-www-form-urlencoded': {
      schema: { type: 'object', additionalProperties: { type: 'string' } },
    },
  },
};

const BYTES: JsonObject = {
  description:
    'The bytes, as the type they were stored with; the descriptor where it is asked for.',
  content: {
    'text/plain': { schema: { type: 'string' } },
    'application/json': { schema: schemaRef('HubDescriptor'), example: DESCRIPTOR },
  },
};

const DOWNLOADED: JsonObject = {
  200: BYTES,
  206: { description: 'The range that was asked for.' },
  304: { description: 'It has the ETag that was given.' },
  402: jsonAnswer('It has a price; `PAYMENT-REQUIRED` says the same.', 'HubPaymentRequired'),
  416: refusal('No such range.', 'no such range'),
  ...NOT_FOUND,
  ...TAKEN_DOWN,
};

const STAT: JsonObject = {
  200: jsonAnswer('Days of a public hub, with the fields of the original.', 'HubRows', [
    {
      Day: '2026-11-26T00:00:00Z',
      DailyAccounts: 1,
      DailyBuckets: 1,
      DailyNeedles: 4,
      DailyVolumes: 1,
      TotalAccounts: 12,
      TotalBuckets: 15,
      TotalNeedles: 340,
      TotalVolumes: 12,
    },
  ]),
};

/** Of a list that names its owner. */
const USAGE_HEADERS: JsonObject = {
  'Hub-Used-Bytes': {
    description: 'What the quota of the owner counts.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Hub-Quota-Bytes': {
    description: 'Bytes that an owner may store in all; absent where there is no limit.',
    schema: { type: 'integer', minimum: 1 },
  },
};

function list(
  name: string,
  what: string,
  parameters: Json,
  hasForm = true,
): Readonly<Record<string, JsonObject>> {
  const of = (id: string, method: string): JsonObject =>
    operation(`${id}${method}`, `${what}, newest first.`, {
      parameters,
      ...(method === 'Post' && { requestBody: FORM }),
      responses: {
        200: {
          ...jsonAnswer('Rows with the fields of the original.', 'HubRows', []),
          ...(name === 'Needle' && { headers: USAGE_HEADERS }),
        },
      },
    });
  return Object.fromEntries(
    ['list', 'get'].map((verb) => [
      `/api/${verb}${name}`,
      {
        get: of(verb + name, 'Get'),
        ...(hasForm && { post: of(verb + name, 'Post') }),
      },
    ]),
  );
}

export const HUB_OPENAPI: OpenApiPart = {
  tags: [
    {
      name: 'File hub',
      description:
        'Texts and files by owner and id. Private hubs want a signature in `Authorization`; see docs/hub.md.',
    },
  ],
  paths: {
    '/api/upload': {
      post: operation('hubUpload', 'Stores a text.', {
        requestBody: {
          required: true,
          description: 'JSON, whatever its content type says.',
          content: {
            'application/json': {
              schema: schemaRef('HubMessage'),
              example: { owner: 'alice', id: 'greeting', message: 'hello world' },
            },
          },
        },
        responses: { 200: jsonAnswer('Where it lies.', 'HubDescriptor', DESCRIPTOR) },
      }),
    },
    '/api/uploadData': {
      post: operation('hubUploadData', 'Stores a file.', {
        requestBody: {
          required: true,
          content: {
            'multipart/form-data': {
              schema: {
                type: 'object',
                required: ['owner', 'file'],
                properties: {
                  owner: { type: 'string', minLength: 1, maxLength: NAME_MAX_BYTES.owner },
                  file: { type: 'string', contentMediaType: 'application/octet-stream' },
                  contentType: { type: 'string', description: '`text/plain` if absent.' },
                },
              },
            },
          },
        },
        responses: { 200: jsonAnswer('Where it lies.', 'HubDescriptor', DESCRIPTOR) },
      }),
    },
    '/api/download': {
      get: operation('hubDownload', 'Serves what was stored. Knows ranges and ETags.', {
        parameters: [
          NAME,
          OWNER,
          query('display', '`json`: the descriptor in place of the bytes.'),
          query('download', '`1`: the bytes in any case.'),
          query('sha256', 'One of the versions of the name, by its digest.', false, DIGEST),
          ...(SALES_HEADERS as JsonObject[]),
        ],
        responses: DOWNLOADED,
      }),
      post: operation('hubDownloadByForm', 'Serves what was stored.', {
        requestBody: FORM,
        responses: {
          200: BYTES,
          402: jsonAnswer('It has a price; it is bought by GET.', 'HubPaymentRequired'),
          ...NOT_FOUND,
          ...TAKEN_DOWN,
        },
      }),
    },
    '/api/download/{owner}/{name}': {
      get: operation(
        'hubDownloadByPath',
        'The same, by its path; offers of files for sale name it.',
        {
          parameters: [
            { ...OWNER, in: 'path', required: true },
            { ...NAME, in: 'path', required: true },
            ...(SALES_HEADERS as JsonObject[]),
          ],
          responses: DOWNLOADED,
        },
      ),
    },
    '/api/conversation': {
      get: operation('hubConversation', 'Conversations of an owner, or the texts of one.', {
        parameters: [OWNER, NAME, ...(PAGE as JsonObject[])],
        responses: { 200: jsonAnswer('Texts.', 'HubTexts', ['chat']) },
      }),
      post: operation('hubConversationByForm', 'The same.', {
        requestBody: FORM,
        responses: { 200: jsonAnswer('Texts.', 'HubTexts', ['chat']) },
      }),
    },
    ...list('Account', 'Owners', [OWNER, ...(PAGE as JsonObject[])]),
    ...list('Bucket', 'Buckets of an owner', [OWNER, ...(PAGE as JsonObject[])]),
    ...list('Needle', 'What an owner has stored', [OWNER, NAME, ...(PAGE as JsonObject[])]),
    ...list('Volume', 'Volumes of an owner', [OWNER, ...(PAGE as JsonObject[])]),
    ...list('Conversation', 'Conversations of an owner', [OWNER, ...(PAGE as JsonObject[])], false),
    '/api/stat': {
      get: operation('hubStat', 'Counts of the last days, newest first.', {
        parameters: [query('count', 'Days: 30 if absent, 366 if more.')],
        responses: STAT,
      }),
      post: operation('hubStatByForm', 'The same.', { requestBody: FORM, responses: STAT }),
    },
    '/api/versions': {
      get: operation('hubVersions', 'What a name stands for and stood for, newest first.', {
        parameters: [OWNER, NAME],
        responses: {
          200: jsonAnswer('As many older ones as `HUB_VERSIONS` says.', 'HubRows', []),
          ...NOT_FOUND,
        },
      }),
    },
    '/api/retention': {
      put: operation('hubSetRetention', 'Says how old files may get. Signed by their owner.', {
        requestBody: {
          required: true,
          content: { 'application/json': { schema: schemaRef('HubRetentionWanted') } },
        },
        responses: { 200: jsonAnswer('What holds now.', 'HubRetention'), ...NOT_FOUND },
      }),
      get: operation('hubRetention', 'How old files may get. Signed by their owner.', {
        parameters: [OWNER],
        responses: { 200: jsonAnswer('What holds.', 'HubRetention') },
      }),
    },
    '/api/object': {
      delete: operation('hubRemove', 'Gives a name up, in private hubs. Signed by its owner.', {
        parameters: [OWNER, NAME],
        responses: {
          200: jsonAnswer('It is no longer found.', 'HubRemoved', {
            Owner: 'alice',
            Name: 'greeting',
          }),
          ...NOT_FOUND,
        },
      }),
    },
    ...LINK_PATHS,
    '/api/price': {
      put: operation('hubSetPrice', 'Puts a price on a file. Signed by its owner.', {
        requestBody: {
          required: true,
          content: { 'application/json': { schema: schemaRef('HubPriceWanted') } },
        },
        responses: {
          200: jsonAnswer('What it costs now.', 'HubPrice'),
          ...NOT_FOUND,
          409: refusal(
            'The file was written again meanwhile; it has no price by this.',
            'the file was written again meanwhile',
            ['Retry-After'],
          ),
          ...TAKEN_DOWN,
        },
      }),
      get: operation('hubPrice', 'What a file costs.', {
        parameters: [OWNER, FILE],
        responses: { 200: jsonAnswer('What it costs.', 'HubPrice'), ...NOT_FOUND },
      }),
      delete: operation('hubRemovePrice', 'Takes a price away. Signed by its owner.', {
        parameters: [OWNER, FILE],
        responses: { 200: jsonAnswer('It costs nothing.', 'HubPrice'), ...NOT_FOUND },
      }),
    },
    '/api/info': {
      get: operation('hubInfo', 'What this is.', {
        responses: { 200: jsonAnswer('The fields of the original.', 'HubInfo') },
      }),
    },
  },
  schemas: { ...SALES_SCHEMAS, ...LINK_SCHEMAS, ...HUB_SCHEMAS },
};
