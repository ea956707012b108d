import type { SandboxClient } from '../../sandbox/deploy.js';
import { delay } from './client.js';

/**
 * Makes the blocks of a chain, one after another. The node could do that by itself, but a snapshot that
 * it takes while it makes a block holds what the block has done and not the block: going back to it
 * leaves a chain on which money has moved and no transaction has moved it.
 */
export class BlockMaker {
  #isRunning = true;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly client: SandboxClient,
    private readonly blockTimeMs: number,
  ) {}

  /** @param blockTimeMs - between the beginnings of two blocks. */
  static async start(client: SandboxClient, blockTimeMs: number): Promise<BlockMaker> {
    await client.setAutomine(false);
    const maker = new BlockMaker(client, blockTimeMs);
    void maker.#run();
    return maker;
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#turn;
  }

  /** Blocks in which nothing happens. */
  pass(blocks: number): Promise<void> {
    return this.#inTurn(() => this.#make(blocks));
  }

  /** Replaces a block that lives this long by one without its transactions. */
  replaceNext(livesMs: number): Promise<void> {
    return this.#inTurn(async () => {
      const id = await this.client.snapshot();
      await delay(this.blockTimeMs);
      await this.#make();
      await delay(livesMs);
      await this.client.revert({ id });
    });
  }

  async #run(): Promise<void> {
    while (this.#isRunning) {
      await Promise.all([delay(this.blockTimeMs), this.#inTurn(() => this.#make())]);
    }
  }

  /** A node that is too slow to answer is asked again: a block more changes nothing. */
  async #make(blocks = 1): Promise<void> {
    while (this.#isRunning) {
      try {
        await this.client.mine({ blocks });
        return;
      } catch {
        await delay(this.blockTimeMs);
      }
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}
