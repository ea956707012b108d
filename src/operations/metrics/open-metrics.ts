import { Registry } from 'prom-client';

export const OPEN_METRICS_TYPE = Registry.OPENMETRICS_CONTENT_TYPE;
export const PROMETHEUS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

const COUNTER_METADATA = /^(# (?:HELP|TYPE) \S+?)_total( |$)/;

/**
 * Converts the Prometheus text format to OpenMetrics 1.0: metadata of a counter has the name without `_total`, there
 * are no empty lines, and the text ends with `# EOF`. The registry of prom-client knows both formats, but renames its
 * counters permanently when it writes OpenMetrics, so one registry cannot serve both.
 *
 * @param text - in which only counters have names that end with `_total`.
 */
export function toOpenMetrics(text: string): string {
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(COUNTER_METADATA, '$1$2'));
  return `${lines.join('\n')}\n# EOF\n`;
}

/** Whether a scraper prefers OpenMetrics; Prometheus names it first if it accepts both. */
export function wantsOpenMetrics(accept: string | undefined): boolean {
  return accept?.includes('application/openmetrics-text') === true;
}
