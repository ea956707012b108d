import { TickCoalescer } from '../../platform/concurrency/tick-coalescer.js';
import type { ScriptArgument, ScriptReply } from '../../platform/redis/redis-scripts.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { asList, asText } from './reply.js';
import type { JointScript, ScriptCall } from './script-files.js';

/** Steps of one call. While a script runs, Redis does nothing else. */
const STEPS_MOST = 32;

interface Step {
  readonly keys: readonly string[];
  readonly args: readonly ScriptArgument[];
  readonly resolve: (reply: ScriptReply) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Steps of one script on one ledger. Those of one turn of the event loop share a call, so that what a call costs in Redis
 * is paid once for all of them. They run one after another, as if each had come by itself.
 */
export class JointSteps {
  #waiting: Step[] = [];
  readonly #turnEnd = new TickCoalescer(() => {
    this.#flush();
  });

  constructor(
    private readonly script: JointScript,
    private readonly run: (call: ScriptCall) => Promise<ScriptReply>,
  ) {}

  /** Fails as the call does, or as its own step does. */
  add(keys: readonly string[], args: readonly ScriptArgument[]): Promise<ScriptReply> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ keys, args, resolve, reject });
      this.#turnEnd.schedule();
    });
  }

  #flush(): void {
    const steps = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < steps.length; from += STEPS_MOST) {
      void this.#send(steps.slice(from, from + STEPS_MOST));
    }
  }

  async #send(steps: readonly Step[]): Promise<void> {
    try {
      const keys = steps.flatMap((step) => step.keys);
      const args = steps.flatMap((step) => [step.keys.length, step.args.length, ...step.args]);
      const call = { script: this.script, keys, args: [steps.length, ...args] };
      const replies = asList(await this.run(call));
      for (const [index, step] of steps.entries()) this.#settle(step, replies[index]);
    } catch (error) {
      for (const step of steps) step.reject(error);
    }
  }

  #settle({ resolve, reject }: Step, reply: ScriptReply | undefined): void {
    const [isDone, value = null] = asList(reply);
    if (isDone === 1) resolve(value);
    else reject(new RedisUnavailableError(this.script.name, asText(value)));
  }
}
