import { Injectable } from '@nestjs/common';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import { ProcessRegistry } from '../ledger/process-registry.js';
import { Lanes } from './lanes.js';

/** The lanes at the end of a process. */
@Injectable()
export class LaneShutdown {
  constructor(
    private readonly lanes: Lanes,
    private readonly processes: ProcessRegistry,
  ) {}

  @AtShutdown('hand-over', 'lanes')
  async handOver(): Promise<void> {
    if (await this.#hasSuccessor()) await this.lanes.stop();
  }

  @AtShutdown('lanes', 'lanes')
  stop(): Promise<void> {
    return this.lanes.stop();
  }

  async #hasSuccessor(): Promise<boolean> {
    try {
      const live = await this.processes.live();
      return live.some(
        ({ processId, roles }) =>
          processId !== this.processes.processId && roles.includes('worker'),
      );
    } catch {
      return false;
    }
  }
}
