import { jest } from '@jest/globals';
import { startedServices } from '../../sandbox/service.js';

/** Real chains and real processes take their time, above all on a busy machine. */
jest.setTimeout(120_000);

/** The environment of the spec shows their logs when a test fails. */
Object.assign(globalThis, { servicesOfSpec: startedServices });
