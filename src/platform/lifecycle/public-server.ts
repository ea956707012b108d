import type { Server } from 'node:http';
import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AtShutdown } from './at-shutdown.js';

/** The shutdown of the public port. The operators' port stays open until the connections of the process are closed. */
@Injectable()
export class PublicServer {
  #answered = Promise.resolve();

  constructor(private readonly adapter: HttpAdapterHost) {}

  @AtShutdown('doors', 'requests')
  close(): void {
    const server = this.adapter.httpAdapter.getHttpServer() as Server;
    // An idle kept-alive connection would delay the end of this process.
    server.keepAliveTimeout = 1;
    this.#answered = new Promise((resolve) => {
      server.close(() => {
        resolve();
      });
    });
    server.closeIdleConnections();
  }

  /** Resolves when the last running request is answered. */
  @AtShutdown('requests', 'requests')
  answered(): Promise<void> {
    return this.#answered;
  }
}
