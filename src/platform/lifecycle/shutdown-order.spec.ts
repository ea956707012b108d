import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { Logger } from 'nestjs-pino';
import { AppConfig } from '../config/app-config.js';
import { AtShutdown } from './at-shutdown.js';
import { ShutdownOrder } from './shutdown-order.js';

describe('the order of a shutdown', () => {
  const taken: string[] = [];
  const failed: unknown[] = [];

  class Early {
    @AtShutdown('waits', 'early')
    end(): void {
      taken.push('early');
    }
    @AtShutdown('archive', 'late')
    async endLate(): Promise<void> {
      await Promise.resolve();
      taken.push('late');
    }
    stop(): void {
      taken.push('never');
    }
  }
  class Last {
    @AtShutdown('ledgers', 'last')
    end(): void {
      taken.push('last');
    }
  }
  class Failing {
    @AtShutdown('requests', 'failing')
    end(): void {
      taken.push('failing');
      throw new Error('it fails');
    }
  }
  class Hanging {
    @AtShutdown('lanes', 'hanging')
    end(): Promise<void> {
      taken.push('hanging');
      return new Promise(() => undefined);
    }
  }
  class HangingLonger {
    @AtShutdown('requests', 'hanging longer')
    end(): Promise<void> {
      return new Promise(() => undefined);
    }
  }

  async function ended(instances: readonly unknown[], graceMs = 15_000): Promise<unknown> {
    taken.length = failed.length = 0;
    const order = new ShutdownOrder(
      Object.assign(Object.create(AppConfig.prototype) as AppConfig, { shutdownGraceMs: graceMs }),
      Object.assign(Object.create(DiscoveryService.prototype) as DiscoveryService, {
        getProviders: () => instances.map((instance) => ({ instance })),
      }),
      new MetadataScanner(),
      {
        log: () => undefined,
        error: ({ step }: { readonly step: string }) => failed.push(step),
      } as unknown as Logger,
    );
    const close = (): Promise<void> => {
      taken.push('closing');
      return Promise.resolve();
    };
    return order.run(close).catch((error: unknown) => error);
  }

  it('is that of the phases, and each step is taken once', async () => {
    const early = new Early();
    // The same object under two tokens, a value, and what was not made.
    expect(await ended([early, early, 'text', undefined, null])).toBeUndefined();
    expect(taken).toEqual(['early', 'late', 'closing']);
  });

  it('goes on behind a step that fails, and fails at the end', async () => {
    expect(await ended([new Failing(), new Early()])).toBeInstanceOf(AggregateError);
    expect(taken).toEqual(['early', 'failing', 'late', 'closing']);
    expect(failed).toEqual(['failing']);
  });

  it('gives up what takes longer than the time there is, and takes what is left', async () => {
    const begun = performance.now();
    expect(await ended([new Hanging(), new Early()], 200)).toBeInstanceOf(AggregateError);
    expect(performance.now() - begun).toBeLessThan(1500);
    expect(taken).toEqual(['early', 'hanging', 'late', 'closing']);
    expect(failed).toEqual(['hanging']);
  });

  it('is forgotten by the ledgers last, and only where all of it ended', async () => {
    await ended([new Last(), new Early()]);
    expect(taken).toEqual(['early', 'late', 'last', 'closing']);
    await ended([new Last(), new Failing(), new Early()]);
    expect(taken).toEqual(['early', 'failing', 'late', 'closing']);
    await ended([new Last(), new Hanging()], 200);
    expect(taken).toEqual(['hanging', 'closing']);
  });

  it('leaves time for the phases behind the requests', async () => {
    const begun = performance.now();
    await ended([new HangingLonger(), new Early()], 2200);
    expect(performance.now() - begun).toBeLessThan(1500);
    expect(taken).toEqual(['early', 'late', 'closing']);
  });
});

/** Those that something else stops. */
const STOPPED_BY: Readonly<Record<string, string>> = {
  'operations/access/api-key-store': 'ApiKeysModule',
  'platform/chain/head-watcher': 'ChainWorker',
  'platform/concurrency/rounds': 'the part that makes the rounds',
  'settlement/lanes/chain-worker': 'Lanes',
  'settlement/lanes/lane-holder': 'Lanes',
  'settlement/lanes/lane-reporter': 'Lanes',
  'settlement/lanes/lanes': 'LaneShutdown',
  'wallet/budget/reconciler': 'WalletModule',
  'wallet/hub/link-ending': 'WalletModule',
  'wallet/provider/local/local-provider': 'WalletModule',
  'wallet/provider/privy/privy-provider': 'WalletModule',
};

describe('what runs in a process', () => {
  it('names its step of a shutdown, or has an owner that stops it', () => {
    const src = new URL('../../', import.meta.url);
    const running = readdirSync(src, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.endsWith('.spec.ts'))
      .filter((path) => {
        const text = readFileSync(new URL(path, src), 'utf8');
        const has = (name: string): boolean =>
          new RegExp(`^  (async )?${name}\\(\\): (Promise<void>|void) \\{`, 'm').test(text);
        return has('start') && has('stop') && !text.includes('@AtShutdown(');
      })
      .map((path) => path.replace(/\.ts$/, ''));
    expect(running.sort()).toEqual(Object.keys(STOPPED_BY).sort());
  });
});
