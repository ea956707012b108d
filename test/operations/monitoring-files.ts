import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** The folder of what operators hand to Prometheus and Grafana. */
export const MONITORING = fileURLToPath(new URL('../../deploy/monitoring/', import.meta.url));

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook: string };
}

export function readAlerts(): readonly Alert[] {
  const { groups } = parse(readFileSync(`${MONITORING}alerts.yml`, 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly Alert[] }[];
  };
  return groups.flatMap(({ rules }) => rules);
}

/** Names of the alerts that have a rule test. */
export function testedAlerts(): ReadonlySet<string> {
  const { tests } = parse(readFileSync(`${MONITORING}alerts.test.yml`, 'utf8')) as {
    readonly tests: readonly {
      readonly alert_rule_test: readonly { readonly alertname: string }[];
    }[];
  };
  return new Set(
    tests.flatMap(({ alert_rule_test: cases }) => cases.map(({ alertname }) => alertname)),
  );
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: Readonly<Record<'h' | 'w' | 'x' | 'y', number>>;
  readonly targets?: readonly { readonly expr: string }[];
}

export function readPanels(): readonly Panel[] {
  const dashboard = JSON.parse(readFileSync(`${MONITORING}grafana/dashboard.json`, 'utf8')) as {
    readonly panels: readonly Panel[];
  };
  return dashboard.panels;
}
