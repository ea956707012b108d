import { describe, expect, it, jest } from '@jest/globals';
import type { PinoLogger } from 'nestjs-pino';
import { loadSignerRecovery } from '../../platform/crypto/recover-signer.js';
import { JsonBodyReader } from '../../platform/http/request-body.js';
import type { RecoverSignerAsync } from '../../protocol/schemes/verdict.js';
import { WarmUp } from './warm-up.js';

const { recoverSigner } = loadSignerRecovery();
const recover: RecoverSignerAsync = (...signed) => Promise.resolve(recoverSigner(...signed));

function aWarmUp(parts: {
  readonly recoverSigner?: RecoverSignerAsync;
  readonly bodyMaxBytes?: number;
}) {
  const bodies = new JsonBodyReader({ bodyMaxBytes: parts.bodyMaxBytes ?? 65_536 });
  const logger = { debug: jest.fn(), warn: jest.fn() };
  const warmUp = new WarmUp(
    bodies,
    { recoverSigner: parts.recoverSigner ?? recover },
    logger as unknown as PinoLogger,
  );
  return { warmUp, logger };
}

/** A busy machine may not verify one payment in the time that a start has for it. */
const PATIENT_MS = 20_000;

describe('the warm-up', () => {
  it('judges made-up payments, all of which are good', async () => {
    const { warmUp } = aWarmUp({});
    const count = await warmUp.run(PATIENT_MS);
    expect(count).toBeGreaterThanOrEqual(32);
    expect(count).toBeLessThanOrEqual(256);
  });

  it('judges them where `BODY_MAX_BYTES` leaves room for one payment and no more', async () => {
    const { warmUp } = aWarmUp({ bodyMaxBytes: 2000 });
    expect(await warmUp.run(PATIENT_MS)).toBeGreaterThanOrEqual(32);
  });

  it('ends soon where each payment takes long', async () => {
    const slow: RecoverSignerAsync = async (...signed) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return recoverSigner(...signed);
    };
    const { warmUp } = aWarmUp({ recoverSigner: slow });
    const begun = performance.now();
    await warmUp.run();
    expect(performance.now() - begun).toBeLessThan(3000);
  });

  it.each<[string, Parameters<typeof aWarmUp>[0]]>([
    ['signers are not recovered', { recoverSigner: () => Promise.resolve(undefined) }],
    ['a recovery never ends', { recoverSigner: () => new Promise<never>(() => undefined) }],
    ['signers cannot be recovered', { recoverSigner: () => Promise.reject(new Error('gone')) }],
    ['bodies are refused', { bodyMaxBytes: 1 }],
  ])('stops no start where %s', async (_, parts) => {
    const { warmUp, logger } = aWarmUp(parts);
    await warmUp.onModuleInit();
    expect(logger.warn).toHaveBeenCalledTimes(1);
    expect(logger.debug).not.toHaveBeenCalled();
  });
});
