import { jest } from '@jest/globals';

/** A unit takes milliseconds. On a machine whose cores are all busy it may take a thousand times as long. */
jest.setTimeout(30_000);
