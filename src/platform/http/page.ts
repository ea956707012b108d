import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AppConfig } from '../config/app-config.js';
import { VERSION } from '../config/version.js';
import { isOps } from './ops.js';
import { pageHeaders } from './page-headers.js';

export const PRODUCT = 'x402-settle';

export interface PageLink {
  readonly href: string;
  readonly name: string;
  readonly about: string;
  /** Whether this process has it, at the operators' port or at the public one. */
  readonly isOn: (config: AppConfig, isForOps: boolean) => boolean;
}

/** Pages for people, in the order of the navigation. */
export const PAGES: readonly PageLink[] = [
  {
    href: 'docs',
    name: 'API',
    about: 'every endpoint, with examples to try',
    isOn: () => true,
  },
  {
    href: 'discovery',
    name: 'Marketplace',
    about: 'resources and tools that are sold through this facilitator',
    isOn: (config) => config.hasRole('api'),
  },
  {
    href: 'doctor',
    name: 'Check a seller',
    about: 'what keeps buyers from paying an endpoint',
    isOn: (config) => config.hasRole('api') && config.doctor !== undefined,
  },
  {
    href: 'hub',
    name: 'Files',
    about: 'store, share and sell files',
    isOn: (config) => config.hasRole('hub'),
  },
  {
    href: 'wallet',
    name: 'Wallet',
    about: 'who may pay from your wallet, and how much',
    isOn: (config) => config.wallet !== undefined,
  },
  {
    href: 'admin',
    name: 'Operators',
    about: 'the console: settlements, lanes, sellers, webhooks',
    isOn: (config, isForOps) =>
      isForOps && config.hasRole('api') && config.access.apiKeysFile !== undefined,
  },
];

export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

interface PageContent {
  readonly title: string;
  /** A module of `public/pages`, which fills the page. */
  readonly script?: string;
  /** HTML that is there before the script, and without one. */
  readonly main?: string;
}

/** Steps up of a link on a page; deeper paths have an error page with links that lead nowhere. */
const LINK_DEPTH_MOST = 16;
const NO_SCRIPT = '<noscript><p class="error">This page needs JavaScript.</p></noscript>';

/**
 * A page with the navigation of this process.
 *
 * @param up - the way to the root, for links: the service may stand below a path of its host.
 */
function htmlOf(
  { title, script, main = NO_SCRIPT }: PageContent,
  { config, isForOps, up, path }: PageSite,
): string {
  const links = PAGES.filter(({ isOn }) => isOn(config, isForOps)).map(({ href, name }) => {
    const isHere = path === `/${href}` || path.startsWith(`/${href}/`);
    return `<a href="${up}${href}"${isHere ? ' aria-current="page"' : ''}>${name}</a>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title === PRODUCT ? title : `${escaped(title)} · ${PRODUCT}`}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}site.css">
${script === undefined ? '' : `<script type="module" src="${up}pages/${script}"></script>`}
</head>
<body>
<header class="site">
<p class="brand"><a href="${up}./">${PRODUCT}</a></p>
<nav class="tabs" aria-label="Pages">${links.join('\n')}</nav>
</header>
<main id="app">${main}</main>
<footer class="site quiet">${PRODUCT} ${VERSION}</footer>
</body>
</html>
`;
}

interface PageSite {
  readonly config: AppConfig;
  readonly isForOps: boolean;
  readonly up: string;
  readonly path: string;
}

/** Answers with a page. */
export function sendPage(
  response: ServerResponse,
  request: IncomingMessage,
  { config, status = 200, ...content }: PageContent & { config: AppConfig; status?: number },
): void {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const depth = Math.max(0, path.split('/').length - 2);
  // A path of thousands of slashes would be answered with links of thousands of steps.
  const up = '../'.repeat(Math.min(depth, LINK_DEPTH_MOST));
  const text = htmlOf(content, { config, isForOps: isOps(request), up, path });
  pageHeaders(request as never, response as never, () => undefined);
  response.statusCode = status;
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.setHeader('Cache-Control', 'no-cache');
  response.end(text);
}

/** Whether a person asks by a browser, which names HTML; programs do not. */
export function wantsPage({ method, headers }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && (headers.accept ?? '').includes('text/html');
}
