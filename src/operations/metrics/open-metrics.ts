import { Registry } from 'prom-client';

export const OPEN_METRICS_TYPE = Registry.OPENMETRICS_CONTENT_TYPE;
export const PROMETHEUS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

const COUNTER_METADATA = /^(# (?:HELP|TYPE) \S+?)_total( |$)/;

/**
 * Turns the Prometheus text format into OpenMetrics 1.0: metadata of a counter goes by the name
 * without `_total`, there are no empty lines, and the text ends with `# EOF`. The registry of
 * prom-client knows both formats but renames its counters for good when it writes OpenMetrics, so one
 * registry cannot serve scrapers of both kinds.
 *
 * @param text - whose counters, and nothing else, have names in `_total`.
 */
export function toOpenMetrics(text: string): string {
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(COUNTER_METADATA, '$1$2'));
  return `${lines.join('\n')}\n# EOF\n`;
}

/** Whether a scraper asks for OpenMetrics; Prometheus names it first where it takes both. */
export function wantsOpenMetrics(accept: string | undefined): boolean {
  return accept?.includes('application/openmetrics-text') === true;
}
