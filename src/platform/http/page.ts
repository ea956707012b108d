import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  StreamableFile,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { map, type Observable } from 'rxjs';
import { AppConfig } from '../config/app-config.js';
import { VERSION } from '../config/version.js';
import { isOps } from './ops.js';
import { pageHeaders } from './page-headers.js';
import { StaticFile } from './static-file.js';

export const PRODUCT = 'x402-settle';

export interface PageLink {
  readonly href: string;
  readonly name: string;
  readonly about: string;
  /** Whether this process serves the page, on the operators' or the public port. */
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

/** The content of a page, without its frame. */
export interface PageContent {
  readonly title: string;
  /** A module in `public/pages` that fills the page. */
  readonly script?: string;
  /** HTML shown before the script runs, and without scripts. */
  readonly main?: string;
}

const HTML = 'text/html; charset=utf-8';
/** Maximum steps up in a link; links on an error page of a deeper path do not work. */
const LINK_DEPTH_MOST = 16;
const NO_SCRIPT = '<noscript><p class="error">This page needs JavaScript.</p></noscript>';

/**
 * A page with the navigation of this process.
 *
 * @param up - relative path to the root, because a proxy may serve the service below a path.
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

/** A page as HTML, with links relative to its path. */
function pageAt(request: IncomingMessage, config: AppConfig, content: PageContent): string {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const depth = Math.max(0, path.split('/').length - 2);
  // Bounded, because a path of thousands of slashes would cause very long links.
  const up = '../'.repeat(Math.min(depth, LINK_DEPTH_MOST));
  return htmlOf(content, { config, isForOps: isOps(request), up, path });
}

/** Answers with a page. */
export function sendPage(
  response: ServerResponse,
  request: IncomingMessage,
  { config, status, ...content }: PageContent & { config: AppConfig; status: number },
): void {
  const text = pageAt(request, config, content);
  setBrowserHeaders(request, response);
  response.statusCode = status;
  response.setHeader('Content-Type', HTML);
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

/** A new version of the service has new pages and files under the same names. */
function setBrowserHeaders(request: IncomingMessage, response: ServerResponse): void {
  pageHeaders(request as never, response as never, () => undefined);
  response.setHeader('Cache-Control', 'no-cache');
}

/** Sends pages and files that handlers return. */
@Injectable()
export class PageInterceptor implements NestInterceptor<PageContent | StaticFile> {
  constructor(private readonly config: AppConfig) {}

  intercept(
    context: ExecutionContext,
    next: CallHandler<PageContent | StaticFile>,
  ): Observable<string | StreamableFile> {
    const http = context.switchToHttp();
    const [request, response] = [http.getRequest<Request>(), http.getResponse<Response>()];
    return next.handle().pipe(
      map((shown) => {
        setBrowserHeaders(request, response);
        if (shown instanceof StaticFile) {
          return new StreamableFile(shown.bytes, { type: shown.type });
        }
        response.setHeader('Content-Type', HTML);
        return pageAt(request, this.config, shown);
      }),
    );
  }
}

/** Whether the client is a browser, which accepts HTML; programs do not. */
export function wantsPage({ method, headers }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && (headers.accept ?? '').includes('text/html');
}
