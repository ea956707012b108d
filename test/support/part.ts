import { it as always } from '@jest/globals';

const part = process.env['TEST_PART'];

/** Whether only what `npm test` plays is played now. */
export const isCore = part === 'core';

/** A case of `npm test`. */
export const it = part === 'rest' ? always.skip : always;

/** A case that `npm test` leaves to `npm run test:rest`. A run of its file alone plays both. */
export const deep = isCore ? always.skip : always;
