import { Inject, Injectable, Optional } from '@nestjs/common';
import {
  type HealthCheckResult,
  HealthCheckService,
  HealthIndicatorService,
  type HealthIndicatorResult,
} from '@nestjs/terminus';
import type { Redis } from 'ioredis';
import { type ApiKeyStatus, ApiKeyStore } from '../access/api-key-store.js';
import { ChainRegistry } from '../chain/chain-registry.js';
import { AppConfig } from '../config/app-config.js';
import { LaneBoard } from '../ledger/lane-board.js';
import { LEDGER_REDIS } from '../redis/redis.module.js';
import { networkHealth } from './network-health.js';

/** Probes must hear within a second, whatever is down. */
const PATIENCE_MS = 700;

/** Answers from what is known; asks nobody but Redis. */
@Injectable()
export class HealthService {
  #isDraining = false;

  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly chains: ChainRegistry,
    private readonly board: LaneBoard,
    private readonly config: AppConfig,
    @Inject(LEDGER_REDIS) private readonly redis: Redis,
    @Optional() private readonly apiKeys?: ApiKeyStore,
  ) {}

  /** From now on this process wants no new requests. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Can this process answer truthfully? */
  ready(): Promise<HealthCheckResult> {
    return this.health.check([() => this.#redis(), () => this.#process()]);
  }

  /** Can this deployment settle now? */
  deployment(): Promise<HealthCheckResult> {
    const keys = this.apiKeys?.status;
    return this.health.check([
      () => this.#redis(),
      () => this.#networks(),
      ...(keys === undefined ? [] : [() => this.#apiKeys(keys)]),
    ]);
  }

  async #redis(): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check('redis');
    const startedAt = performance.now();
    try {
      await within(PATIENCE_MS, this.redis.ping());
      return indicator.up({ roundTripMs: Math.round(performance.now() - startedAt) });
    } catch {
      return indicator.down({ code: 'redis_unreachable' });
    }
  }

  #process(): HealthIndicatorResult {
    const indicator = this.indicators.check('process');
    return this.#isDraining ? indicator.down({ code: 'draining' }) : indicator.up();
  }

  /** Never down: while a new file cannot be used, the keys read before are. */
  #apiKeys({ code }: ApiKeyStatus): HealthIndicatorResult {
    return this.indicators.check('apiKeys').up(code === undefined ? {} : { code });
  }

  async #networks(): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check('networks');
    try {
      const networks = await within(PATIENCE_MS, this.#eachNetwork());
      const canSettle = Object.values(networks).some((network) => network.canSettle);
      return canSettle ? indicator.up(networks) : indicator.down(networks);
    } catch {
      return indicator.down({ code: 'redis_unreachable' });
    }
  }

  async #eachNetwork(): Promise<Record<string, ReturnType<typeof networkHealth>>> {
    const now = Date.now();
    const entries = await Promise.all(
      this.chains.all.map(async (chain) => {
        const lanes = await this.board.live(chain.chainId);
        const { headMaxAgeMs } = this.config;
        return [chain.config.network, networkHealth(chain, lanes, headMaxAgeMs, now)] as const;
      }),
    );
    return Object.fromEntries(entries);
  }
}

async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error('no answer in time'));
    }, ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
