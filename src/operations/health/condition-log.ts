import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { Rounds } from '../../platform/concurrency/rounds.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';
import { DeploymentReport } from './deployment-report.js';

const LOOK_MS = 2000;
/** A shorter condition is not logged, because lanes and networks open at each start. */
const LASTS_MS = 10_000;

/** A lane or a network with its condition. */
interface Subject {
  readonly kind: 'lane' | 'network';
  readonly name: string;
  readonly code: string | undefined;
}

/** The last logged state of a subject, and the time of a change since. */
interface LoggedState {
  code: string | undefined;
  changedAt: number | undefined;
}

const BAD = {
  lane: 'a lane takes no work',
  network: 'a network cannot be settled on: its payments are refused',
} as const;
const WELL = {
  lane: 'a lane takes work again',
  network: 'a network can be settled on again',
} as const;

/**
 * Logs when a lane of this process, or a network as this process sees it, becomes unhealthy and when it recovers: one
 * line each, however many payments are refused meanwhile.
 */
@Injectable()
export class ConditionLog implements OnModuleInit {
  readonly #rounds = new Rounds(() => this.round());
  readonly #logged = new Map<string, LoggedState>();

  constructor(
    @Inject(DeploymentReport)
    private readonly deployment: Pick<DeploymentReport, 'networks' | 'lanes'>,
    @Inject(ProcessRegistry) private readonly process: Pick<ProcessRegistry, 'processId'>,
    @Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'warn' | 'info' | 'error'>,
  ) {}

  onModuleInit(): void {
    this.#rounds.start();
  }

  @AtShutdown('background', 'log of troubles')
  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /** Never fails. @returns the pause before the next round. */
  async round(): Promise<number> {
    try {
      for (const subject of await this.#subjects()) this.#look(subject);
    } catch (error) {
      // The Redis connections log an outage themselves.
      if (!(error instanceof RedisUnavailableError)) {
        this.logger.error(
          { err: error },
          'could not check lanes and networks for conditions to report',
        );
      }
    }
    return LOOK_MS;
  }

  async #subjects(): Promise<readonly Subject[]> {
    const [networks, lanes] = await Promise.all([
      this.deployment.networks(),
      this.deployment.lanes(),
    ]);
    const own = lanes.filter(({ owner }) => owner === this.process.processId);
    return [
      ...networks.map(({ network: name, code }) => ({ kind: 'network', name, code }) as const),
      // The log names the operator who paused a lane.
      ...own
        .filter(({ code }) => code !== 'paused')
        .map(({ lane: name, code }) => ({ kind: 'lane', name, code }) as const),
    ];
  }

  #look({ kind, name, code }: Subject): void {
    const key = `${kind} ${name}`;
    const logged = this.#logged.get(key) ?? { code: undefined, changedAt: undefined };
    this.#logged.set(key, logged);
    if (logged.code === code) {
      logged.changedAt = undefined;
      return;
    }
    const now = performance.now();
    logged.changedAt ??= now;
    if (now - logged.changedAt < LASTS_MS) return;
    if (code === undefined) this.logger.info({ [kind]: name, was: logged.code }, WELL[kind]);
    else this.logger.warn({ [kind]: name, code }, BAD[kind]);
    logged.code = code;
    logged.changedAt = undefined;
  }
}
