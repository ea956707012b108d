import { Counter, type Registry } from 'prom-client';
import { PROBE_STATES } from '../../discovery/alive/probe.js';
import type { ProberObserver } from '../../discovery/alive/prober-observer.js';

/** Counts what this process has seen of entries of the catalogue. */
export function proberMetrics(registry: Registry): ProberObserver {
  const probes = new Counter({
    name: 'x402_catalogue_probes_total',
    help: 'Entries of the catalogue that were asked for without a payment, by what was seen.',
    labelNames: ['state'],
    registers: [registry],
  });
  for (const state of PROBE_STATES) if (state !== 'not_probed') probes.inc({ state }, 0);
  return {
    probed: (state) => {
      probes.inc({ state });
    },
    troubled: () => undefined,
    recovered: () => undefined,
  };
}
