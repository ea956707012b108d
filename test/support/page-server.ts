import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { AppConfig } from '../../src/platform/config/app-config.js';
import { type PageContent, sendPage } from '../../src/platform/http/page.js';
import { PageFilesController } from '../../src/platform/http/page-files.controller.js';
import type { StaticFile } from '../../src/platform/http/static-file.js';

/** What a page knows of a process that serves every page, and has no settings. */
const PAGE_CONFIG = {
  access: {},
  hasRole: () => true,
  doctor: {},
  wallet: {},
  hub: { isPrivate: true },
} as unknown as AppConfig;

/** Answers with a page, as the service does. */
export function showPage(
  request: IncomingMessage,
  response: ServerResponse,
  page: PageContent,
): void {
  sendPage(response, request, { config: PAGE_CONFIG, status: 200, ...page });
}

/** Answers with a file that a page loads. */
export function sendFile(response: express.Response, { type, bytes }: StaticFile): void {
  response.type(type).send(bytes);
}

/** A server of pages, of what they load, and of the answers that a test makes up. */
export class PageServer {
  private constructor(private readonly server: Server) {}

  /** @param serve - adds the answers and the pages. */
  static async start(serve: (app: express.Express) => void): Promise<PageServer> {
    const files = new PageFilesController();
    const app = express();
    serve(app);
    app.get('/site.css', (_request, response) => {
      sendFile(response, files.style());
    });
    app.get('/pages/:file', ({ params }, response) => {
      sendFile(response, files.page(params.file));
    });
    app.get('/components/:file', ({ params }, response) => {
      sendFile(response, files.component(params.file));
    });
    const server: Server = await new Promise((resolve) => {
      const listening = app.listen(0, '127.0.0.1', () => {
        resolve(listening);
      });
    });
    return new PageServer(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}
