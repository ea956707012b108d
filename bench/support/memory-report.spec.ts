import { describe, expect, it } from '@jest/globals';
import {
  memoryChart,
  memoryFacts,
  type MemoryReport,
  type MemorySample,
  memoryTable,
  steadinessOf,
} from './memory-report.js';

const MIB = 2 ** 20;
const PACE = 100;

/** Grows for a minute by 1 KiB a settlement, and then by what never leaves. */
function sampleAt(seconds: number, leakMiB: number): MemorySample {
  const settled = seconds * PACE;
  const cooling = Math.min(settled, 60 * PACE);
  const leak = (Math.max(0, settled - cooling) / 10_000) * leakMiB;
  return {
    seconds,
    settled,
    cooling,
    waiting: 5,
    serviceMiB: 200,
    redisMiB: 10 + (cooling * 1024) / MIB + leak,
  };
}

function reportOf(leakMiB: number): MemoryReport {
  return {
    name: 'memory',
    at: '2026-11-22T12:00:00Z',
    seed: 'one',
    hotMinutes: 1,
    perSecond: PACE,
    machine: {
      cpu: 'one',
      cores: 2,
      memoryGiB: 1,
      system: 'one',
      loadBefore: 0,
      versions: {},
      commit: 'abc',
    },
    samples: Array.from({ length: 301 }, (_, nth) => sampleAt(nth * 2, leakMiB)),
    rest: { seconds: 61, cooling: 0, redisMiB: 10, redisMiBBefore: 10, keys: 40, archived: 60_000 },
    problems: [],
  };
}

describe('the report of bench:memory', () => {
  it('tells a line that is flat from one that grows', () => {
    const flat = steadinessOf(reportOf(0));
    expect(flat.slopeMiB).toBeCloseTo(0);
    expect([flat.bytesEach, flat.keptSlopeMiB]).toEqual([
      expect.closeTo(1024),
      expect.closeTo((10_000 * 1024) / MIB),
    ]);
    expect(steadinessOf(reportOf(0.5)).slopeMiB).toBeCloseTo(0.5);
    expect(memoryFacts(reportOf(0)).join('\n')).toContain('0.000 MiB for each 10 000');
  });

  it('shows each tenth of it', () => {
    const [, rows] = memoryTable(reportOf(0));
    expect(rows.map(([settled]) => settled)).toEqual(
      Array.from({ length: 10 }, (_, nth) => String((nth + 1) * 6000)),
    );
  });

  it('draws the curve within the picture, and how it would have gone on', () => {
    const picture = memoryChart(reportOf(0));
    const lines = [...picture.matchAll(/<polyline points="([^"]+)"/g)].map(([, points = '']) =>
      points.split(' ').map((point) => point.split(',').map(Number)),
    );
    expect(lines.map(({ length }) => length)).toEqual([301, 2]);
    for (const [x = -1, y = -1] of lines.flat()) {
      expect(x).toBeGreaterThanOrEqual(80);
      expect(x).toBeLessThanOrEqual(860);
      expect(y).toBeGreaterThanOrEqual(50);
      expect(y).toBeLessThanOrEqual(280);
    }
    // Flat: the last half of the curve is one height.
    const heights = (lines[0] ?? []).slice(150).map(([, y]) => y);
    expect(new Set(heights).size).toBe(1);
    expect(picture).toContain('>60000</text>');
  });
});
