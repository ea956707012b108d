import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'undici';
import type { Address, Hex, TypedDataDefinition } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { freePort, type Started, startProgram } from '../../sandbox/processes.js';

interface Reply {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

interface WalletRequest {
  readonly id: number;
  readonly method: string;
  readonly params?: readonly string[];
}

const WALLET_IN_PAGE = `
  globalThis.answersOfWallet = new Map();
  globalThis.ethereum = {
    request: (request) =>
      new Promise((resolve) => {
        const id = answersOfWallet.size;
        answersOfWallet.set(id, resolve);
        askWallet(JSON.stringify({ id, ...request }));
      }),
  };
`;

/** What Chromium says of an expression whose page is replaced by another one meanwhile. */
const PAGE_LEFT = /navigated or closed|context was destroyed|Cannot find (default )?context/i;

/** A transaction as pages hand it to a wallet. */
export interface PageTransaction {
  readonly to: Address;
  readonly data?: Hex;
  readonly value?: Hex;
}

/** Whatever it is asked to sign, its person agrees. */
async function answerOf(
  account: PrivateKeyAccount,
  method: string,
  [first = '0x', second = ''] = [] as readonly string[],
): Promise<string | readonly string[]> {
  if (method === 'personal_sign') return account.signMessage({ message: { raw: first as Hex } });
  if (method !== 'eth_signTypedData_v4') return [account.address];
  return account.signTypedData(JSON.parse(second) as TypedDataDefinition);
}

/** A real browser with one page, driven through the Chrome DevTools protocol. */
export class Browser {
  /** What the page complained about: errors, and whatever its policy kept out. */
  readonly complaints: string[] = [];
  /** URLs the page has asked for since {@link watchRequests}, `data:` among them. */
  readonly requests: string[] = [];
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #next = 0;
  #wallet: PrivateKeyAccount | undefined;
  #walletScript = '';
  #sendTransaction: ((transaction: PageTransaction) => Promise<Hex>) | undefined;

  private constructor(
    private readonly started: Started,
    private readonly folder: string,
    private readonly socket: WebSocket,
  ) {
    socket.addEventListener('message', ({ data }) => {
      this.#hear(JSON.parse(String(data)) as Reply);
    });
  }

  /** Whether there is one on this machine. */
  static async start(width: number, height: number): Promise<Browser> {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'x402-browser-'));
    const started = await startProgram(
      'chromium',
      [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--hide-scrollbars',
        `--user-data-dir=${folder}`,
        `--remote-debugging-port=${port}`,
        `--window-size=${width},${height}`,
        'about:blank',
      ],
      (output) => output.includes('DevTools listening'),
      { env: { ...process.env, HOME: folder } },
    );
    const pages = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as {
      readonly type: string;
      readonly webSocketDebuggerUrl: string;
    }[];
    const page = pages.find(({ type }) => type === 'page');
    const socket = new WebSocket(page?.webSocketDebuggerUrl ?? '');
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => {
        resolve();
      });
      socket.addEventListener('error', () => {
        reject(new Error('the browser does not answer'));
      });
    });
    const browser = new Browser(started, folder, socket);
    for (const domain of ['Page', 'Runtime', 'Log']) await browser.#send(`${domain}.enable`);
    await browser.resize(width, height);
    return browser;
  }

  async resize(width: number, height: number): Promise<void> {
    await this.#send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: false,
    });
  }

  /** Light or dark, as a person prefers it. */
  async prefer(scheme: 'light' | 'dark'): Promise<void> {
    const features = [{ name: 'prefers-color-scheme', value: scheme }];
    await this.#send('Emulation.setEmulatedMedia', { features });
  }

  async open(url: string): Promise<void> {
    await this.#send('Page.navigate', { url });
  }

  /** Notes from now on what the page asks for, also what its policy keeps from being sent. */
  async watchRequests(): Promise<void> {
    await this.#send('Network.enable');
  }

  /**
   * Gives the pages opened from now on a browser wallet (EIP-1193) with this one account.
   *
   * @param send - sends a transaction of the account, and returns its hash.
   */
  async provideWallet(
    account: PrivateKeyAccount,
    send?: (transaction: PageTransaction) => Promise<Hex>,
  ): Promise<void> {
    this.#wallet = account;
    this.#sendTransaction = send;
    await this.#send('Runtime.addBinding', { name: 'askWallet' });
    const added = await this.#send('Page.addScriptToEvaluateOnNewDocument', {
      source: WALLET_IN_PAGE,
    });
    this.#walletScript = String(added['identifier']);
  }

  /** Opens a page as in a browser that has no wallet. */
  async withoutWallet(url: string): Promise<void> {
    const identifier = this.#walletScript;
    await this.#send('Page.removeScriptToEvaluateOnNewDocument', { identifier });
    await this.open(url);
  }

  /** Gives the browser an authenticator that makes and keeps passkeys, whose user is there and known. */
  async provideAuthenticator(): Promise<void> {
    await this.#send('WebAuthn.enable');
    await this.#send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
  }

  async #answerAsWallet({ id, method, params }: WalletRequest): Promise<void> {
    const account = this.#wallet;
    if (account === undefined) return;
    const answer =
      method === 'eth_sendTransaction'
        ? await this.#sendTransaction?.(params?.[0] as unknown as PageTransaction)
        : await answerOf(account, method, params);
    await this.evaluate(`answersOfWallet.get(${id})(${JSON.stringify(answer)})`);
  }

  /** The value of an expression in the page. */
  async evaluate(expression: string): Promise<unknown> {
    const { result } = (await this.#send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })) as { readonly result?: { readonly value?: unknown } };
    return result?.value;
  }

  /** Evaluates until it is true. A page that is just being left answers nothing; the next one is asked again. */
  async until(expression: string): Promise<void> {
    const deadline = Date.now() + 30_000;
    for (;;) {
      const seen = await this.evaluate(expression).catch((error: unknown) => error);
      if (seen === true) return;
      if (seen instanceof Error && !PAGE_LEFT.test(seen.message)) throw seen;
      if (Date.now() > deadline) throw new Error(`never true in the page: ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Puts a file into a field of the page, as a person chooses one. */
  async chooseFile(selector: string, path: string): Promise<void> {
    const { root } = (await this.#send('DOM.getDocument')) as { root: { nodeId: number } };
    const query = { nodeId: root.nodeId, selector };
    const { nodeId } = (await this.#send('DOM.querySelector', query)) as { nodeId: number };
    await this.#send('DOM.setFileInputFiles', { files: [path], nodeId });
  }

  async screenshot(file: string): Promise<void> {
    const { data } = await this.#send('Page.captureScreenshot', { format: 'png' });
    writeFileSync(file, Buffer.from(String(data), 'base64'));
  }

  async stop(): Promise<void> {
    this.socket.close();
    await this.started.stop('SIGKILL');
    // The processes it started outlive it by a moment and write until they see that it is gone. Of
    // the two, only `rm` then empties the folder again at each retry; `rmSync` retries the removal
    // of the folder alone.
    await rm(this.folder, { recursive: true, force: true, maxRetries: 20 });
  }

  async #send(
    method: string,
    params: Readonly<Record<string, unknown>> = {},
  ): Promise<Readonly<Record<string, unknown>>> {
    const id = (this.#next += 1);
    const replied = new Promise<Reply>((resolve) => this.#waiting.set(id, resolve));
    this.socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await replied;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  }

  #hear(reply: Reply): void {
    if (reply.id !== undefined) {
      this.#waiting.get(reply.id)?.(reply);
      this.#waiting.delete(reply.id);
    } else if (reply.method === 'Runtime.exceptionThrown' || reply.method === 'Log.entryAdded') {
      this.complaints.push(JSON.stringify(reply.params));
    } else if (reply.method === 'Network.requestWillBeSent') {
      const { url } = reply.params?.['request'] as { readonly url: string };
      this.requests.push(url);
    } else if (reply.method === 'Page.javascriptDialogOpening') {
      void this.#send('Page.handleJavaScriptDialog', { accept: true });
    } else if (reply.method === 'Runtime.bindingCalled') {
      void this.#answerAsWallet(JSON.parse(String(reply.params?.['payload'])) as WalletRequest);
    }
  }
}
