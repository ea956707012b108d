import { jest } from '@jest/globals';

/** Real chains and real processes take their time, above all on a busy machine. */
jest.setTimeout(120_000);
