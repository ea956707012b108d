import { beforeEach, describe, expect, it } from '@jest/globals';
import { ArchiveError } from '../archive.js';
import { webhookLog } from './webhook-log.js';

describe('webhooks in the log', () => {
  let lines: string[];
  const line =
    (level: string) =>
    (...args: unknown[]): void => {
      lines.push(`${level} ${JSON.stringify(args)}`);
    };
  const logger = { info: line('info'), warn: line('warn'), error: line('error') };

  beforeEach(() => {
    lines = [];
  });

  it('are one line for an outage, one for its end, and none for a delivery', () => {
    const log = webhookLog(logger as unknown as Parameters<typeof webhookLog>[0]);
    log.attempted('refused');
    for (const error of [new ArchiveError('database_unreachable', undefined), new Error('jobs')]) {
      log.failed(error);
    }
    log.recovered();
    log.failed(new Error('jobs'));
    log.disabled({ id: 'we_one', owner: 'shop' }, 'failing');
    expect(lines.map((one) => one.slice(0, one.indexOf(' ')))).toEqual([
      'error',
      'info',
      'error',
      'warn',
    ]);
    expect(lines[0]).toContain('database_unreachable');
    expect(lines[3]).toContain(
      '"event":"webhook.disabled","webhook":"we_one","owner":"shop","reason":"failing"',
    );
  });
});
