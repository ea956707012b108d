import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { MONITORING, readAlerts, readPanels, testedAlerts } from './monitoring-files.js';

/** Runs promtool in the folder of the rules. */
function promtool(...args: readonly string[]): { readonly ok: boolean; readonly output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, {
    cwd: MONITORING,
    encoding: 'utf8',
  });
  return { ok: status === 0, output: stdout + stderr };
}

describe('alert rules', () => {
  beforeAll(() => {
    if (spawnSync('promtool', ['--version']).status === 0) return;
    throw new Error('promtool is missing. On Debian and Ubuntu: apt-get install prometheus');
  });

  it.each([
    ['are well-formed', ['check', 'rules', 'alerts.yml']],
    ['are part of a well-formed configuration', ['check', 'config', 'prometheus.yml']],
    ['fire when they should and only then', ['test', 'rules', 'alerts.test.yml']],
  ])('%s', (_, args) => {
    const { ok, output } = promtool(...args);
    expect(ok ? 'ok' : output).toBe('ok');
  });

  it('each have a rule test', () => {
    expect(readAlerts().filter(({ alert }) => !testedAlerts().has(alert))).toEqual([]);
  });

  it('each name a section of the runbook that names the alert', () => {
    const runbook = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');
    const sections = new Map(
      runbook.split(/^## /m).map((section) => [anchorOf(section.split('\n')[0] ?? ''), section]),
    );
    for (const { alert, annotations } of readAlerts()) {
      const [file, anchor = ''] = annotations.runbook.split('#');
      expect(file).toBe('docs/runbook.md');
      expect(sections.get(anchor) ?? `no section ${anchor}`).toContain(`\`${alert}\``);
    }
  });
});

/** The anchor that a Markdown heading gets. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(/\s/g, '-');
}

describe('the dashboard', () => {
  it('has panels of different ids that do not cover each other', () => {
    const panels = readPanels();
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const covered = new Map<string, string>();
    for (const { title, gridPos } of panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(covered.get(`${x},${y}`) ?? title).toBe(title);
          covered.set(`${x},${y}`, title);
        }
      }
    }
  });
});
