import type { FactoryProvider } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { fanOut, type Observer } from './fan-out.js';

/**
 * An observer that logs its calls, and passes them on to an observer that counts.
 *
 * @param counted - the injection token of the counting observer.
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
