import type { PinoLogger } from 'nestjs-pino';
import type { SourceObserver } from './source.js';

/** A line for each outage of another catalogue, and one for its end. */
export function sourceLog(logger: PinoLogger): SourceObserver {
  return {
    paused: (name) => {
      logger.warn({ source: name }, 'another catalogue does not answer, and is left alone a while');
    },
    recovered: (name) => {
      logger.info({ source: name }, 'another catalogue answers again');
    },
  };
}
