import { describe, expect, it } from '@jest/globals';
import type { Request } from 'express';
import type { AppConfig } from '../platform/config/app-config.js';
import { markOps } from '../platform/http/ops.js';
import { LandingController } from './landing.controller.js';

function linksAt(settings: object, isForOps = false): readonly string[] {
  const config = { access: {}, hasRole: () => false, ...settings } as unknown as AppConfig;
  const request = {} as Request;
  if (isForOps) markOps(request);
  const page = new LandingController(config).page(request);
  return [...page.matchAll(/href="([\w.]+)"/g)].map(([, href]) => href ?? '').slice(1);
}

const PUBLIC = ['docs', 'discovery', 'verify', 'supported', 'health', 'openapi.json'];

describe('the first page', () => {
  it('links to what this process has', () => {
    expect(linksAt({})).toEqual(PUBLIC);
    const all = { doctor: {}, wallet: {}, hasRole: () => true };
    expect(linksAt(all)).toEqual([
      'docs',
      'discovery',
      'doctor',
      'hub',
      'wallet',
      ...PUBLIC.slice(2),
    ]);
  });

  it('links to what is for operators at their port alone', () => {
    const access = { apiKeysFile: 'keys.json' };
    expect(linksAt({ access })).toEqual(PUBLIC);
    expect(linksAt({ access }, true)).toEqual([
      'docs',
      'discovery',
      'admin',
      ...PUBLIC.slice(2),
      'metrics',
    ]);
    expect(linksAt({}, true)).toEqual([...PUBLIC, 'metrics']);
  });
});
