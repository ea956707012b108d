import type { FactoryProvider } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../../platform/config/app-config.js';
import { loadSignerRecovery } from '../../platform/crypto/recover-signer.js';
import { RecoveryThread } from '../../platform/crypto/recovery-thread.js';
import type { RecoverSignerAsync } from '../../protocol/schemes/verdict.js';

/** {@link RecoverSignerAsync}: beside the event loop, where `RECOVERY_THREAD` says so. */
export const RECOVER_SIGNER = Symbol('RECOVER_SIGNER');

export const SIGNER_RECOVERY: FactoryProvider<RecoverSignerAsync> = {
  provide: RECOVER_SIGNER,
  inject: [AppConfig, PinoLogger],
  useFactory: (config: AppConfig, logger: PinoLogger) => {
    const { implementation, recoverSigner } = loadSignerRecovery();
    if (implementation === 'javascript') {
      logger.warn(
        'the native secp256k1 package is not installed: signatures are checked in JavaScript, which is slower',
      );
    }
    if (!config.hasRecoveryThread) return (...signed) => Promise.resolve(recoverSigner(...signed));
    return RecoveryThread.start(recoverSigner, () => {
      logger.error(
        'the signature worker thread ended; signatures are now checked on the main thread',
      );
    }).recoverSigner;
  },
};
