import { parentPort } from 'node:worker_threads';
import { loadSignerRecovery } from './recover-signer.js';
import type { RecoveryAnswer, RecoveryQuestion } from './recovery-messages.js';

/** The worker thread, which recovers signers in batches. */
const { recoverSigner } = loadSignerRecovery();

parentPort?.on('message', ({ id, items }: RecoveryQuestion) => {
  const signers = items.map(([digest, signature]) => recoverSigner(digest, signature));
  parentPort?.postMessage({ id, signers } satisfies RecoveryAnswer);
});
