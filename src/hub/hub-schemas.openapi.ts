import type { JsonObject } from '../platform/http/openapi.js';
import { MEDIA_TYPE } from './media-type.js';
import { NAME_MAX_BYTES } from './names.js';

/** Schemas of what a hub is sent and answers. */
export const HUB_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  HubMessage: {
    type: 'object',
    description: 'Names of fields in any case.',
    required: ['owner', 'id', 'message'],
    properties: {
      owner: { type: 'string', minLength: 1, maxLength: NAME_MAX_BYTES.owner },
      id: { type: 'string', minLength: 1, maxLength: NAME_MAX_BYTES.id },
      message: { type: 'string', minLength: 1 },
      bucket: { type: ['string', 'null'], maxLength: NAME_MAX_BYTES.bucket },
      kind: { type: ['string', 'null'], maxLength: NAME_MAX_BYTES.kind },
      contentType: {
        type: ['string', 'null'],
        pattern: `^$|${MEDIA_TYPE.source}`,
        description: 'A media type; `text/plain` if absent.',
      },
    },
  },
  HubDescriptor: {
    type: 'object',
    required: ['File', 'Start', 'Size'],
    properties: {
      File: { type: 'string', description: 'The volume.' },
      Start: { type: 'integer', minimum: 0, description: 'Byte offset of the payload in it.' },
      Size: { type: 'integer', minimum: 0, description: 'Bytes.' },
    },
  },
  HubTexts: {
    oneOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }],
  },
  HubRows: {
    oneOf: [
      { type: 'array', items: { type: 'object', additionalProperties: true } },
      { type: 'null' },
    ],
  },
  HubRemoved: {
    type: 'object',
    required: ['Owner', 'Name'],
    properties: { Owner: { type: 'string' }, Name: { type: 'string' } },
  },
  HubRetentionWanted: {
    type: 'object',
    required: ['days'],
    properties: {
      owner: { type: 'string', description: 'The signer.' },
      days: { type: 'integer', minimum: 0, description: '0 for ever.' },
    },
  },
  HubRetention: {
    type: 'object',
    required: ['Owner', 'Days'],
    properties: { Owner: { type: 'string' }, Days: { type: 'integer', minimum: 0 } },
  },
  HubInfo: {
    type: 'object',
    required: ['Type', 'Name'],
    properties: { Type: { type: 'string', const: 'hub' }, Name: { type: 'string' } },
    additionalProperties: true,
  },
  HubRefusal: {
    type: 'object',
    required: ['Type', 'Message'],
    properties: { Type: { type: 'string', const: 'hub' }, Message: { type: 'string' } },
  },
};
