import { Controller, Get, Header, Req } from '@nestjs/common';
import type { Request } from 'express';
import { AppConfig } from '../platform/config/app-config.js';
import { VERSION } from '../platform/config/version.js';
import { isOps } from '../platform/http/ops.js';

interface Link {
  readonly href: string;
  readonly name: string;
  readonly about: string;
  /** Whether this process has it, for who asks at the operators' port or at the public one. */
  readonly isOn?: (config: AppConfig, isForOps: boolean) => boolean;
}

/** Pages for people. */
const PAGES: readonly Link[] = [
  { href: 'docs', name: 'API', about: 'every endpoint, with examples' },
  { href: 'discovery', name: 'Marketplace', about: 'what is sold through it' },
  {
    href: 'doctor',
    name: 'Check a seller',
    about: 'what is wrong with a paid endpoint',
    isOn: (config) => config.doctor !== undefined,
  },
  {
    href: 'hub',
    name: 'Files',
    about: 'the file hub',
    isOn: (config) => config.hasRole('hub'),
  },
  {
    href: 'wallet',
    name: 'Wallet',
    about: 'what agents may pay',
    isOn: (config) => config.wallet !== undefined,
  },
  {
    href: 'admin',
    name: 'Operators',
    about: 'the console',
    isOn: (config, isForOps) => isForOps && config.access.apiKeysFile !== undefined,
  },
];

/** Answers for programs. */
const ANSWERS: readonly Link[] = [
  { href: 'supported', name: '/supported', about: 'networks, schemes and signers' },
  { href: 'health', name: '/health', about: 'whether it can settle now' },
  { href: 'openapi.json', name: '/openapi.json', about: 'the API as OpenAPI' },
  { href: 'metrics', name: '/metrics', about: 'for Prometheus', isOn: (_, isForOps) => isForOps },
];

const itemOf = ({ href, name, about }: Link): string =>
  `<li><a href="${href}">${name}</a>: ${about}</li>`;

function pageOf(config: AppConfig, isForOps: boolean): string {
  const shown = (links: readonly Link[]): string =>
    links
      .filter(({ isOn }) => isOn?.(config, isForOps) ?? true)
      .map(itemOf)
      .join('\n');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>x402 facilitator</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="site.css">
<main>
<h1>x402 facilitator</h1>
<p>This service verifies signed x402 payments and settles them on chain. Every settle has one true
answer. Version ${VERSION}.</p>
<nav aria-label="Pages"><ul>
${shown(PAGES)}
</ul></nav>
<h2>For programs</h2>
<p>Give its URL to your x402 resource server as the facilitator.</p>
<ul>
<li><code>POST /verify</code>, <code>POST /settle</code>: V1 and V2; <a href="verify">how</a></li>
${shown(ANSWERS)}
</ul>
</main>
</html>
`;
}

@Controller()
export class LandingController {
  constructor(private readonly config: AppConfig) {}

  @Get()
  @Header('Content-Type', 'text/html; charset=utf-8')
  page(@Req() request: Request): string {
    return pageOf(this.config, isOps(request));
  }
}
