import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../../platform/config/app-config.js';
import { loadSignerRecovery } from '../../platform/crypto/recover-signer.js';
import { RecoveryThread } from '../../platform/crypto/recovery-thread.js';
import type { RecoverSignerAsync } from '../../protocol/schemes/verdict.js';

/** Recovers the signers of payments: on a thread of its own where `RECOVERY_THREAD` is on. */
@Injectable()
export class SignerRecovery {
  readonly recoverSigner: RecoverSignerAsync;

  constructor(
    @Inject(AppConfig) { hasRecoveryThread }: Pick<AppConfig, 'hasRecoveryThread'>,
    logger: PinoLogger,
  ) {
    const { implementation, recoverSigner } = loadSignerRecovery();
    if (implementation === 'javascript') {
      logger.warn(
        'the native secp256k1 package is not installed: signatures are checked in JavaScript, which is slower',
      );
    }
    this.recoverSigner = hasRecoveryThread
      ? RecoveryThread.start(recoverSigner, () => {
          logger.error(
            'the signature worker thread ended; signatures are now checked on the main thread',
          );
        }).recoverSigner
      : (...signed) => Promise.resolve(recoverSigner(...signed));
  }
}
