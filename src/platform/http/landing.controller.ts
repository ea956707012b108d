import { Controller, Get, Req, UseInterceptors } from '@nestjs/common';
import type { Request } from 'express';
import { AppConfig } from '../config/app-config.js';
import { isOps } from './ops.js';
import { type PageContent, PageInterceptor, type PageLink, PAGES, PRODUCT } from './page.js';

const isApi = (config: AppConfig): boolean => config.hasRole('api');

/** Links for programs. */
const ANSWERS: readonly PageLink[] = [
  {
    href: 'supported',
    name: '/supported',
    about: 'networks, schemes and signers',
    isOn: isApi,
  },
  { href: 'health', name: '/health', about: 'whether it can settle now', isOn: () => true },
  { href: 'openapi.json', name: '/openapi.json', about: 'the API as OpenAPI', isOn: () => true },
  { href: 'metrics', name: '/metrics', about: 'for Prometheus', isOn: (_, isForOps) => isForOps },
];

function mainOf(config: AppConfig, isForOps: boolean): string {
  const shown = (links: readonly PageLink[]): readonly PageLink[] =>
    links.filter(({ isOn }) => isOn(config, isForOps));
  const cards = shown(PAGES).map(
    ({ href, name, about }) =>
      `<li class="card"><a href="${href}">${name}</a><br><span class="quiet">${about}</span></li>`,
  );
  const answers = shown(ANSWERS).map(
    ({ href, name, about }) => `<li><a href="${href}">${name}</a>: ${about}</li>`,
  );
  const how = isApi(config)
    ? `<p>Give its URL to your x402 resource server as the facilitator.</p>
<pre id="facilitator-url" tabindex="0"></pre>`
    : '';
  const payments = isApi(config)
    ? '<li><code>POST /verify</code>, <code>POST /settle</code>: V1 and V2; <a href="verify">how</a></li>'
    : '';
  return `<h1>${PRODUCT}</h1>
<p>An x402 facilitator: it verifies signed payments and settles them on chain. Every settle has one
true answer.</p>
<div id="status" class="card" aria-busy="true"><span class="quiet">Status: loading</span></div>
<ul class="cards">
${cards.join('\n')}
</ul>
<h2>For programs</h2>
${how}
<ul>
${payments}
${answers.join('\n')}
</ul>
`;
}

/** The home page of every process: its status, and links to everything that it serves. */
@Controller()
@UseInterceptors(PageInterceptor)
export class LandingController {
  constructor(private readonly config: AppConfig) {}

  @Get()
  page(@Req() request: Request): PageContent {
    return { title: PRODUCT, script: 'home.js', main: mainOf(this.config, isOps(request)) };
  }
}
