import { Injectable } from '@nestjs/common';

export interface IndicatorReport {
  /** Whether the deployment can do what this indicator is about. */
  readonly isUp: boolean;
  /** What a reader may know: no URL, no text of another system. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** One line of `GET /health`. */
export interface Indicator {
  readonly name: string;
  /** Milliseconds after which an answer counts as missing. */
  readonly timeoutMs: number;
  /** Whether a process that is down here cannot answer truthfully: then it is not ready either. */
  readonly gatesReadiness?: boolean;
  /** Answers from what is known or asks something near; a failure counts as down. */
  readonly report: () => Promise<IndicatorReport>;
}

/** Probes must hear within a second, whatever is down. */
export const INDICATOR_TIMEOUT_MS = 700;

/** The indicators of this process. Each module adds its own: a process reports what its roles use. */
@Injectable()
export class HealthIndicators {
  readonly #indicators: Indicator[] = [];

  add(indicator: Indicator): void {
    this.#indicators.push(indicator);
  }

  get all(): readonly Indicator[] {
    return this.#indicators;
  }
}
