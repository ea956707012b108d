import type { JsonObject } from '../../platform/http/openapi.js';
import { objectSchema } from '../../protocol/payment/wire-schemas.js';
import { PROBE_STATES } from './probe.js';

/** What was seen of an entry. */
export const PROBE_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  DiscoveredProbe: objectSchema(
    {
      state: {
        type: 'string',
        enum: [...PROBE_STATES],
        description: 'What asking for it without a payment has shown.',
      },
      status: { type: 'integer', description: 'Of HTTP, where there was an answer.' },
      at: { type: 'string', format: 'date-time' },
    },
    ['state'],
  ) as JsonObject,
};

/** A filter of lists. */
export const ALIVE: JsonObject = {
  type: 'string',
  enum: ['true'],
  description: 'Only what was seen alive in the last seven days.',
};
