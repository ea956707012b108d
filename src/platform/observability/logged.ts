import type { FactoryProvider } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { fanOut, type Observer } from './fan-out.js';

/**
 * An observer that logs what it is told, and passes it on to another one that counts it.
 *
 * @param counted - what the other one is injected by.
 */
export function logged<T extends Observer<T>>(
  token: symbol,
  counted: symbol,
  log: (logger: PinoLogger) => T,
): FactoryProvider<T> {
  return {
    provide: token,
    inject: [PinoLogger, counted],
    useFactory: (logger: PinoLogger, observer: T) =>
      fanOut([log(logger), observer], (method, error) => {
        logger.error(
          { observer: token.description, method, err: error },
          'an event handler failed',
        );
      }),
  };
}
