import { beforeEach, describe, expect, it } from '@jest/globals';
import type { PinoLogger } from 'nestjs-pino';
import { ArchiveError } from '../archive.js';
import { LaneWatchLog, webhookLog } from './webhook-log.js';

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

  it('tell of a lane that runs low, with its name', () => {
    const log = new LaneWatchLog(logger as unknown as PinoLogger);
    const money = { chainId: 56, signer: '0xd4', settlementsLeft: 12, balanceWei: '7' } as const;
    log.low({ lane: '56:0xd4', ...money });
    log.failed(new ArchiveError('schema_outdated', undefined));
    expect(lines[0]).toMatch(/^warn .*"event":"lane.low","lane":"56:0xd4","settlementsLeft":12/);
    expect(lines[1]).toMatch(/^error .*schema_outdated/);
  });

  it('are one line for an outage, one for its end, and none for a delivery', () => {
    const log = webhookLog(logger as unknown as Parameters<typeof webhookLog>[0]);
    log.attempted('refused');
    for (const error of [new ArchiveError('database_unreachable', undefined), new Error('jobs')]) {
      log.troubled(error);
    }
    log.recovered();
    log.troubled(new Error('jobs'));
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
