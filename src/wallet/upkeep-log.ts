import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';

/** Logs what the wallet could not do between requests. */
@Injectable()
export class UpkeepLog {
  constructor(@Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'warn'>) {}

  readonly failed = (err: unknown): void => {
    this.logger.warn({ err }, 'a wallet maintenance task failed; retrying');
  };
}
