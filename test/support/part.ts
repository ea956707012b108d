import { it as always } from '@jest/globals';

const part = process.env['TEST_PART'];

/** Whether only what `npm test` plays is played now. */
export const isCore = part === 'core';

const elsewhere = Object.assign(() => undefined, {
  each: () => () => undefined,
}) as unknown as typeof always;

/** A case of `npm test`. */
export const it = part === 'rest' ? elsewhere : always;

/** A case beside those of `npm test`: `npm run test:rest` plays it, and so does a run of its file alone. */
export const deep = isCore ? elsewhere : always;
